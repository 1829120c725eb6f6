"""How a run got over a fault, out of a fine-grained record of what was due and what had come out."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.clock import RunClock
from bench.fault.spec import Fault
from bench.sampler import Output
from bench.schedule import ConstantRate

#: Above the highest lag of the calm time by this share, and by what is due in so many seconds, the record's
#: grain.
BAND_SHARE = 0.25
BAND_GRAIN_S = 0.25
#: Before the first fault: how the pipeline is when nothing is done to it.
CALM_S = 5.0
LOOK_EVERY_S = 0.02
#: A look at the table is a query.
LOOK_AT_TABLE_EVERY_S = 0.1


@dataclass(frozen=True)
class Look:
    """One look at the pipeline's end; `lag` counts from what was due by then, sent or not."""

    at_s: float
    lag: int
    out_count: int


@dataclass(frozen=True)
class Struck:
    """A fault that took place, in seconds of the run."""

    fault: Fault
    struck_s: float
    lifted_s: float


@dataclass(frozen=True)
class Recovery:
    fault: Fault
    struck_s: float
    lifted_s: float
    #: The longest time without new output that the fault has part in: what a user sees.
    outage_ms: float
    #: The same in the calm time before the first fault: with windows there is always some.
    calm_silence_ms: float
    #: From the fault's end (restart begun, process resumed, link back) to the next output.
    first_output_ms: float | None
    lag_peak: int
    lag_band: int
    #: From the strike until the lag is in its band and stays there; None if it did not come back.
    lag_back_ms: float | None
    #: Whether it came back while the producer still sent; afterwards anything catches up.
    under_load: bool

    def as_dict(self) -> dict[str, Any]:
        return {
            "fault": self.fault.name,
            "target": self.fault.target,
            "kind": self.fault.kind,
            "at_s": round(self.struck_s, 3),
            "lasted_s": round(self.lifted_s - self.struck_s, 3),
            "outage_ms": _rounded(self.outage_ms),
            "calm_silence_ms": _rounded(self.calm_silence_ms),
            "first_output_ms": _rounded(self.first_output_ms),
            "lag_peak": self.lag_peak,
            "lag_band": self.lag_band,
            "lag_back_ms": _rounded(self.lag_back_ms),
            "under_load": self.under_load,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


class RecoveryWatch:
    """A thread that looks often; the sampler's line a second is too coarse for an outage in ms."""

    def __init__(
        self,
        output: Output,
        schedule: ConstantRate,
        clock: RunClock,
        total: int,
        every_s: float,
        by_count: bool = False,
    ) -> None:
        self._output = output
        self._schedule = schedule
        self._clock = clock
        self._total = total
        self._every_s = every_s
        self._by_count = by_count
        self.looks: list[Look] = []

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(self._every_s):
            now_ns = self._clock.now_ns()
            if now_ns < self._schedule.start_ns:
                continue
            state = self._output.state()
            due = min(self._schedule.due(now_ns), self._total)
            at_s = (self._clock.now_ns() - self._schedule.start_ns) / 1e9
            out = state.count if self._by_count else state.max_seq
            self.looks.append(Look(at_s, max(0, due - out), state.count))


def recoveries(
    looks: Sequence[Look], struck: Sequence[Struck], calm_from_s: float, load_s: float, rate_per_s: int
) -> list[Recovery]:
    """One for each fault, each up to the next one or to the end of the record."""
    if not struck or not looks:
        return []
    calm_from_s = max(calm_from_s, struck[0].struck_s - CALM_S)
    calm = [look for look in looks if calm_from_s <= look.at_s < struck[0].struck_s]
    highest = max((look.lag for look in calm), default=0)
    band = int(highest * (1 + BAND_SHARE) + BAND_GRAIN_S * rate_per_s)
    came = [at_s for at_s in _arrivals(looks) if at_s <= _over_s(looks, load_s, band)]
    calm_gap = _longest_gap(calm_from_s, [at_s for at_s in came if calm_from_s < at_s < struck[0].struck_s])
    ends = [*(one.struck_s for one in struck[1:]), looks[-1].at_s]
    return [
        _recovery(one, _between(looks, one.struck_s, end), came, end, band, calm_gap, load_s)
        for one, end in zip(struck, ends, strict=True)
    ]


def _recovery(
    one: Struck,
    looks: Sequence[Look],
    came: Sequence[float],
    end_s: float,
    band: int,
    calm_gap_s: float,
    load_s: float,
) -> Recovery:
    after = [at_s for at_s in came if one.lifted_s <= at_s]
    # From the last output before the strike: that is when the user last saw something.
    before = max((at_s for at_s in came if at_s <= one.struck_s), default=one.struck_s)
    seen = [at_s for at_s in came if one.struck_s < at_s < end_s]
    if looks and looks[-1].lag > band:
        seen.append(end_s)  # still behind: this silence has no end
    outage_s = _longest_gap(before, seen)
    above = [index for index, look in enumerate(looks) if look.lag > band]
    back_ms: float | None
    if not above:
        back_ms = 0.0
    elif above[-1] + 1 < len(looks):
        back_ms = (looks[above[-1] + 1].at_s - one.struck_s) * 1000
    else:
        back_ms = None
    return Recovery(
        fault=one.fault,
        struck_s=one.struck_s,
        lifted_s=one.lifted_s,
        outage_ms=outage_s * 1000,
        calm_silence_ms=calm_gap_s * 1000,
        first_output_ms=(after[0] - one.lifted_s) * 1000 if after else None,
        lag_peak=max((look.lag for look in looks), default=0),
        lag_band=band,
        lag_back_ms=back_ms,
        under_load=back_ms is not None and one.struck_s + back_ms / 1000 <= load_s,
    )


def _between(looks: Sequence[Look], from_s: float, to_s: float) -> list[Look]:
    return [look for look in looks if from_s <= look.at_s <= to_s]


def _over_s(looks: Sequence[Look], load_s: float, band: int) -> float:
    """When nothing more was due and the rest had come: a straggler after that ends no outage."""
    return next((look.at_s for look in looks if look.at_s >= load_s and look.lag <= band), math.inf)


def _arrivals(looks: Sequence[Look]) -> list[float]:
    """When something new had come out."""
    return [look.at_s for last, look in pairwise(looks) if look.out_count > last.out_count]


def _longest_gap(from_s: float, came: Sequence[float]) -> float:
    """The longest time between two outputs, the first of them at `from_s`."""
    inside = [from_s, *came]
    return max((later - earlier for earlier, later in pairwise(inside)), default=0.0)
