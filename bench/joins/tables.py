"""The suite's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.joins.outcome import JoinOutcome
from bench.transport.tables import DASH
from bench.verdict import Verdict

Table = list[tuple[str, ...]]

_CASES = (
    *("case", "verdict", "asked/s", "events/s", "hit rate: designed", "expected", "measured"),
    *(
        "p50 / p99 ms",
        "memory MB",
        "state rows",
        "state MB",
        "evicted",
        "missing, dup, wrong, unexpected, late",
    ),
)
LEDGER = ("missing", "duplicates", "wrong", "unexpected", "late")


def cases_table(outcomes: Sequence[JoinOutcome]) -> Table:
    return [_CASES, *map(_case, outcomes)]


def _case(one: JoinOutcome) -> tuple[str, ...]:
    metrics, verdict = one.metrics, one.report.verdict
    if verdict is Verdict.INVALID:
        return (one.name, verdict.value, *[DASH] * (len(_CASES) - 2))
    return (
        one.name,
        verdict.value,
        number(metrics["target_per_s"]) if one.case.live else "backlog",
        number(metrics["events_per_s"]),
        *(share(metrics[name]) for name in ("designed_rate", "expected_rate", "join_rate")),
        f"{number(metrics['latency_ms_p50'])} / {number(metrics['latency_ms_p99'])}",
        megabytes(metrics["memory_bytes_max"]),
        number(metrics["state_rows_max"]),
        megabytes(metrics["state_bytes_max"]),
        number(metrics["evictions"]),
        ", ".join(number(metrics[name]) for name in LEDGER),
    )


def number(value: float | int | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def share(value: float | int | None) -> str:
    return DASH if value is None else f"{value * 100:.1f} %"


def megabytes(value: float | int | None) -> str:
    return DASH if value is None else f"{value / 1e6:,.0f}"


def by_name(outcomes: Sequence[JoinOutcome]) -> Mapping[str, JoinOutcome]:
    return {one.name: one for one in outcomes}
