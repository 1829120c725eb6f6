"""The faults of runs and how they got over them: on the page, in summary.md and in the closing lines.

A run that is INVALID has no figures here either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report import numbers
from bench.report.markdown import escaped
from bench.report.markup import Content, Html, joined, tag
from bench.report.plain import Json, mapping, mappings, number, text
from bench.report.run import Run
from bench.report.run_tables import table
from bench.verdict import Verdict

HEADINGS = (
    "Fault",
    "At",
    "Lasted",
    "Outage",
    "Calm silence",
    "First output",
    "Lag back",
    "Lag peak",
    "Lag band",
)
_LEDGER = ("lost", "duplicates", "late", "wrong", "unexpected", "redelivered")
_NOT_BACK = "not back"
#: It came back when the producer had sent its last.
_AFTER_LOAD = "(after load)"


@dataclass(frozen=True)
class FaultRow:
    """One fault of a run, ready to be shown."""

    cells: tuple[str, ...]


def fault_rows(run: Run) -> tuple[FaultRow, ...]:
    if run.verdict is Verdict.INVALID:
        return ()
    return mappings(_faults(run).get("cells"), _row)


def _faults(run: Run) -> Json:
    return mapping(run.details.get("faults"))


def _row(cell: Json) -> FaultRow:
    def ms(name: str) -> str:
        return numbers.milliseconds(number(cell.get(name)))

    def seconds(name: str) -> str:
        value = number(cell.get(name))
        return numbers.NOTHING if value is None else f"{value:,.1f} s"

    back = number(cell.get("lag_back_ms"))
    later = "" if cell.get("under_load", True) else f" {_AFTER_LOAD}"
    return FaultRow(
        (
            text(cell.get("fault")),
            seconds("at_s"),
            seconds("lasted_s"),
            ms("outage_ms"),
            ms("calm_silence_ms"),
            ms("first_output_ms"),
            _NOT_BACK if back is None else numbers.milliseconds(back) + later,
            numbers.count(number(cell.get("lag_peak"))),
            numbers.count(number(cell.get("lag_band"))),
        )
    )


def ledger_told(run: Run) -> str:
    """`0 lost · 0 duplicates · 12 late …`"""
    ledger = mapping(_faults(run).get("ledger"))
    return " · ".join(f"{numbers.count(number(ledger.get(name)))} {name}" for name in _LEDGER)


def durability_told(run: Run) -> str:
    told = mapping(_faults(run).get("durability"))
    return ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)


def expectation_told(run: Run) -> str:
    return text(_faults(run).get("expectation"))


def faults_section(run: Run) -> Html | None:
    """For the page; the expectation also where nothing could be measured."""
    if not _faults(run):
        return None
    rows: list[list[Content]] = [list(row.cells) for row in fault_rows(run)]
    return joined(
        tag("h3", "Faults and recovery"),
        tag("p", "Expected before the run: ", expectation_told(run), class_="muted small"),
        table(list(HEADINGS), rows, "faults") if rows else None,
        tag("p", "Ledger afterwards: ", ledger_told(run), class_="small") if rows else None,
        tag("p", "Durability: ", durability_told(run), class_="muted small"),
    )


def fault_lines(runs: Sequence[Run]) -> list[str]:
    """For the terminal; nothing where no run had a fault."""
    lines: list[str] = []
    for run in runs:
        rows = fault_rows(run)
        if not rows:
            continue
        whole = [HEADINGS, *(row.cells for row in rows)]
        widths = [max(len(cells[column]) for cells in whole) for column in range(len(HEADINGS))]
        lines += ["", f"{run.name} with faults ({durability_told(run)})"]
        for cells in whole:
            padded = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
            lines.append("  ".join([cells[0].ljust(widths[0]), *padded]))
        lines.append(f"expected: {expectation_told(run)}; afterwards: {ledger_told(run)}")
    return lines


def fault_markdown(runs: Sequence[Run]) -> str:
    """A table for all runs with faults; nothing without one."""
    hurt = [run for run in runs if fault_rows(run)]
    if not hurt:
        return ""
    headings = ["Run", *HEADINGS, "Ledger", "Durability"]
    lines = ["", "## Faults", "", _line(headings), _line(["---"] * 2 + ["---:"] * 8 + ["---"] * 2)]
    for run in hurt:
        lines += [
            _line([run.name, *row.cells, ledger_told(run), durability_told(run)]) for row in fault_rows(run)
        ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
