"""The suite's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.joins.outcome import JoinOutcome
from bench.joins.published import PUBLISHED, PUBLISHED_PER_CORES
from bench.joins.scaling import Scale
from bench.joins.ways import Way
from bench.report.suite_page import DASH, Table
from bench.search import Found
from bench.verdict import Verdict

_CASES = (
    *("case", "verdict", "asked/s", "events/s", "p50 / p99 ms", "memory MB", "CPU s/M"),
    *("state rows", "state MB", "evicted", "missing, dup, wrong, unexpected, late"),
)
_RATES = ("case", "facts", "designed", "expected", "measured", "rows due", "rows seen")
_BESIDE = (
    *("scenario", "events/s", "published", "hit rate", "published", "p99 ms", "published"),
    *("memory MB", "published"),
)
_EMISSION = ("emission", "rows of facts", "complete", "p50 / p99 ms", "after all it waits for: p50 / p99 ms")
_SCALES = ("scenario", "cores", "events/s", "speed-up", "efficiency", "CPU s/M", "published events/s")
_RECOVERY = (
    *("case", "exact", "no row for s", "as prompt as before after s", "p99 ms before", "p99 ms after"),
    *("rows before", "rows after"),
)
_WAYS = ("way", "chosen", "events/s", "CPU s/M", "state rows", "wrong", "missing")
_FOUND = ("scenario", "sustains events/s", "breaks at", "because")
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
        _pair(metrics["latency_ms_p50"], metrics["latency_ms_p99"]),
        megabytes(metrics["memory_bytes_max"]),
        number(metrics["cpu_s_per_million"], 1),
        number(metrics["state_rows_max"]),
        megabytes(metrics["state_bytes_max"]),
        number(metrics["evictions"]),
        ", ".join(number(metrics[name]) for name in LEDGER),
    )


def rates_table(outcomes: Sequence[JoinOutcome]) -> Table:
    """The measured hit rate must be the expected one to the last fact; the designed one is its mean."""
    return [_RATES, *map(_rate, outcomes)]


def _rate(one: JoinOutcome) -> tuple[str, ...]:
    account, metrics = one.account, one.metrics
    rates = (share(metrics[name], 2) for name in ("designed_rate", "expected_rate", "join_rate"))
    return (one.name, number(account.facts), *rates, number(account.expected), number(account.seen))


def beside_table(outcomes: Sequence[JoinOutcome]) -> Table:
    """The four scenarios: capacity from the backlog, latency and memory from the live case."""
    named = {one.name: one.metrics for one in outcomes if one.report.verdict is not Verdict.INVALID}
    rows: Table = []
    for scenario, theirs in PUBLISHED.items():
        live = named.get(scenario)
        backlog = named.get(f"2 {scenario}") or named.get(f"3 {scenario}")
        if live is None:
            continue
        fast = backlog["events_per_s"] if backlog else None
        rows.append(
            (
                scenario,
                number(fast) if fast is not None else f"{number(live['events_per_s'])} (live)",
                f"{theirs.events_per_s:,}",
                share(live["join_rate"]),
                share(theirs.hit_rate),
                number(live["latency_ms_p99"]),
                f"{theirs.latency_ms_p99:g}",
                megabytes(live["memory_bytes_max"]),
                megabytes(theirs.memory_bytes),
            )
        )
    return [_BESIDE, *rows]


def emission_table(outcomes: Sequence[JoinOutcome]) -> Table:
    """What waiting brings in completeness and costs in latency, all over the same topics."""
    names = {"multi-stream": "smart, all required"}
    chosen = [one for one in outcomes if one.name.startswith("emission ") or one.name in names]
    if len(chosen) < 2:
        return [_EMISSION]
    return [
        _EMISSION,
        *(
            (
                names.get(one.name, one.name.removeprefix("emission ")),
                share(one.account.seen / one.account.facts),
                share(one.metrics["join_rate"]),
                _pair(one.metrics["latency_ms_p50"], one.metrics["latency_ms_p99"]),
                _pair(one.metrics["delay_ms_p50"], one.metrics["delay_ms_p99"]),
            )
            for one in chosen
        ),
    ]


def scales_table(scales: Sequence[Scale]) -> Table:
    return [
        _SCALES,
        *(
            (
                one.scenario,
                str(one.cores),
                number(one.events_per_s),
                number(one.speedup, 2),
                share(one.efficiency),
                number(one.cpu_s_per_million, 1),
                number(PUBLISHED_PER_CORES.get(one.cores)),
            )
            for one in scales
        ),
    ]


def recovery_table(outcomes: Sequence[JoinOutcome]) -> Table:
    rows: Table = []
    for one in outcomes:
        told = one.recovery
        if told is not None:
            p99s = (number(told.delay_ms_p99_before), number(told.delay_ms_p99_after))
            counts = (number(told.joined_before), number(told.joined_after))
            times = (number(told.silent_s, 1), number(told.caught_up_s, 1))
            rows.append((one.name, "yes" if one.account.exact else "NO", *times, *p99s, *counts))
    return [_RECOVERY, *rows]


def ways_table(ways: Sequence[tuple[Way, JoinOutcome]]) -> Table:
    return [
        _WAYS,
        *(
            (
                way.name,
                "yes" if way.chosen else "",
                number(one.metrics["events_per_s"]),
                number(one.metrics["cpu_s_per_million"], 1),
                number(one.metrics["state_rows_max"]),
                number(one.account.wrong),
                number(one.account.missing),
            )
            for way, one in ways
        ),
    ]


def found_table(found: Mapping[str, Found]) -> Table:
    rows = (
        (name, number(one.confirmed_per_s), number(one.broke_at_per_s), one.because)
        for name, one in found.items()
    )
    return [_FOUND, *rows]


def number(value: float | int | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def share(value: float | int | None, digits: int = 1) -> str:
    return DASH if value is None else f"{value * 100:.{digits}f} %"


def megabytes(value: float | int | None) -> str:
    return DASH if value is None else f"{value / 1e6:,.0f}"


def _pair(p50: float | int | None, p99: float | int | None) -> str:
    return DASH if p50 is None else f"{number(p50)} / {number(p99)}"
