"""The one line a second that each component prints: printer and strict parser side by side.

Goals: a person can read them, a script can grep them, and both get exactly what was printed. Non-goals:
detail: microseconds go to the run's JSON lines and histogram logs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bench.contract.names import check_run_id


def _count(name: str, value: float) -> str:
    if not 0 <= value < math.inf:
        raise ValueError(f"metric line: {name} is {value}, wanted 0 or more")
    return str(round(value))


def _ms(name: str, value: float | None) -> str:
    # A second without a sample has no percentile. "0ms" would read as the best second of the run, and leaving
    # the field out would shift the columns: a dash is neither a number nor a gap.
    return "-" if value is None else f"{_count(name, value)}ms"


@dataclass(frozen=True)
class ProdLine:
    rate_per_s: float
    max_seq: int
    run_id: str

    def __post_init__(self) -> None:
        check_run_id(self.run_id)

    def format(self) -> str:
        rate, max_seq = _count("rate", self.rate_per_s), _count("max_seq", self.max_seq)
        return f"PROD rate={rate}/s max_seq={max_seq} run_id={self.run_id}"


@dataclass(frozen=True)
class _LagLine:
    """What the two consuming ends have in common. The lag may be negative: the producer's last heartbeat is
    up to a second old, and a fast consumer is then ahead of it."""

    rate_per_s: float
    max_seq: int
    lag: int
    p95_ms: float | None
    p99_ms: float | None
    run_id: str

    def __post_init__(self) -> None:
        check_run_id(self.run_id)

    def _format(self, head: str) -> str:
        rate, max_seq = _count("rate", self.rate_per_s), _count("max_seq", self.max_seq)
        p95, p99 = _ms("p95", self.p95_ms), _ms("p99", self.p99_ms)
        return f"{head}={rate}/s max_seq={max_seq} lag={self.lag} p95={p95} p99={p99} run_id={self.run_id}"


@dataclass(frozen=True)
class ObsLine(_LagLine):
    def format(self) -> str:
        return self._format("OBS rate")


@dataclass(frozen=True)
class DbLine(_LagLine):
    """`rate_per_s` is rows a second, and printed as `rows`."""

    def format(self) -> str:
        return self._format("DB rows")


# No leading zeros and no "-0", so that whatever parses is printed back character by character. 18 digits
# fit int64.
_N = r"(?:0|[1-9][0-9]{0,17})"
_SIGNED = r"(?:0|-?[1-9][0-9]{0,17})"
_MS = rf"(?:-|{_N}ms)"
_RUN = r"run_id=(?P<run_id>[^ ]+)"  # the line classes check it
_PROD = re.compile(rf"PROD rate=(?P<rate>{_N})/s max_seq=(?P<max_seq>{_N}) {_RUN}")
_LAG = re.compile(
    rf"(?P<head>OBS rate|DB rows)=(?P<rate>{_N})/s max_seq=(?P<max_seq>{_N}) lag=(?P<lag>{_SIGNED}) "
    rf"p95=(?P<p95>{_MS}) p99=(?P<p99>{_MS}) {_RUN}"
)


def parse_metric_line(text: str) -> ProdLine | ObsLine | DbLine:
    """Exactly one metric line, without its line break; anything else is a ValueError that quotes the line."""
    try:
        if found := _PROD.fullmatch(text):
            return ProdLine(int(found["rate"]), int(found["max_seq"]), found["run_id"])
        if found := _LAG.fullmatch(text):
            kind = ObsLine if found["head"] == "OBS rate" else DbLine
            p95, p99 = _parse_ms(found["p95"]), _parse_ms(found["p99"])
            return kind(
                int(found["rate"]), int(found["max_seq"]), int(found["lag"]), p95, p99, found["run_id"]
            )
    except ValueError as error:
        raise ValueError(f"not a metric line: {text[:200]!r}: {error}") from error
    raise ValueError(f"not a metric line: {text[:200]!r}")


def _parse_ms(field: str) -> int | None:
    return None if field == "-" else int(field.removesuffix("ms"))
