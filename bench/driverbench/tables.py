"""What the person who ran it reads: three aligned tables."""

from __future__ import annotations

from collections.abc import Sequence

from bench.driverbench.growth import Growth
from bench.driverbench.ratios import OBSERVER, PRODUCER, WRITER
from bench.driverbench.turn import Standing
from bench.gates import GateReport

_OURS = {"publish": PRODUCER, "consume": OBSERVER, "write": WRITER}
_HEADINGS = (
    *("part", "who", "storage", "msg/s", "client CPU s/M", "whole process", "server CPU s/M"),
    *("our rate ÷ its", "our CPU ÷ its"),
)
_GROWTH_HEADINGS = (
    *("axis", "offered/s", "bytes", "subjects", "reached/s", "producer s/M", "observer s/M", "driver cores"),
    *("server s/M", "slip p99 ms", "latency p99 ms"),
)


def standings_table(standings: Sequence[Standing]) -> list[str]:
    ours = {(row.part, row.storage): row for row in standings if row.name == _OURS[row.part]}
    return aligned([_HEADINGS, *(_standing(row, ours.get((row.part, row.storage))) for row in standings)], 3)


def _standing(row: Standing, ours: Standing | None) -> tuple[str, ...]:
    return (
        row.part,
        row.name,
        row.storage,
        f"{row.rate_per_s:,.0f}",
        f"{row.client_cpu_s_per_million:.2f}",
        f"{row.process_cpu_s_per_million:.2f}",
        f"{row.server_cpu_s_per_million:.2f}",
        _share(ours.rate_per_s if ours else None, row.rate_per_s),
        _share(ours.client_cpu_s_per_million if ours else None, row.client_cpu_s_per_million),
    )


def growth_table(rows: Sequence[Growth]) -> list[str]:
    return aligned([_GROWTH_HEADINGS, *(_growth(row) for row in rows)], 1)


def _growth(row: Growth) -> tuple[str, ...]:
    return (
        row.axis,
        f"{row.rate_per_s:,}",
        f"{row.payload_bytes:,}",
        str(row.partitions),
        f"{row.reached_per_s:,.0f}",
        f"{row.producer_cpu_s_per_million:.2f}",
        f"{row.observer_cpu_s_per_million:.2f}",
        f"{row.driver_cores:.3f}",
        f"{row.server_cpu_s_per_million:.2f}",
        _number(row.slip_ms_p99),
        _number(row.latency_ms_p99),
    )


def bars_table(report: GateReport) -> list[str]:
    rows = [
        (
            result.gate.metric,
            _number(result.observed, 3),
            f"{result.gate.comparison} {result.gate.bound:g}",
            "holds" if result.passed else "MISSED" if result.observed is not None else "NOT MEASURED",
        )
        for result in report.results
    ]
    return aligned([("ours ÷ theirs", "ratio", "bar", ""), *rows], 1)


def aligned(rows: Sequence[Sequence[str]], left_columns: int) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < left_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _share(ours: float | None, theirs: float) -> str:
    """Nothing measured shows as a dash, never as a number."""
    return "-" if ours is None or theirs <= 0 else f"{ours / theirs:.2f}"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
