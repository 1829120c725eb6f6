"""The table that closes a pytest session: one line a run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.outcome import Outcome

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
    """Lines of a table with aligned columns; nothing measured shows as a dash, never as a zero."""
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
    metrics, account = outcome.metrics, outcome.account
    return (
        outcome.run_id,
        outcome.case.name,
        outcome.verdict.value,
        _number(metrics.get("producer_rate_per_s")),
        _number(metrics.get("output_rate_per_s")),
        *(_ms(outcome.latency_ms(name)) for name in ("p50", "p95", "p99", "max")),
        _number(metrics.get("lag_max")),
        outcome.lag_trend,
        _number(account.lost if account else None),
        _number(account.duplicates if account else None),
        f"{sum(outcome.driver_cpu_s_per_million.values()):.2f}",
    )


def _number(value: float | int | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
