"""The table that closes a pytest session: one line a run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.outcome import Outcome
from bench.verdict import Verdict

_HEADINGS = (
    "run",
    "case",
    "verdict",
    "in/s",
    "out/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    "lag max",
    "lag trend",
    "lost",
    "dup",
    "driver s/M",
)


def summary_table(outcomes: Sequence[Outcome]) -> list[str]:
    """Lines of a table with aligned columns.

    Nothing measured shows as a dash, never as a zero; and a run that is no measurement has no figures here,
    where somebody would compare them (its result.json has what there was).
    """
    rows = [_HEADINGS, *(_row(outcome) for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column < 3 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _row(outcome: Outcome) -> tuple[str, ...]:
    name = (outcome.run_id, outcome.case.name, outcome.verdict.value)
    if outcome.verdict is Verdict.INVALID:
        return (*name, *["-"] * (len(_HEADINGS) - len(name)))
    metrics, account = outcome.metrics, outcome.account
    cpu_s = outcome.driver_cpu_s_per_million
    return (
        *name,
        _number(metrics.get("producer_rate_per_s")),
        _number(metrics.get("output_rate_per_s")),
        *(_precise(outcome.latency_ms(name)) for name in ("p50", "p95", "p99", "max")),
        _number(metrics.get("lag_max")),
        "-" if outcome.lag_trend == "unknown" else outcome.lag_trend,
        _number(account.lost if account else None),
        _number(account.duplicates if account else None),
        _precise(sum(cpu_s.values()) if cpu_s else None),
    )


def _number(value: float | int | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _precise(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
