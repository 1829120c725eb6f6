"""The table that closes a pytest session: the same columns as every other format, aligned for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report import NotRun, numbers
from bench.report.columns import columns_of
from bench.report.row import Row, row_not_run, row_of
from bench.report.run import Run

#: Run and verdict read from the left, figures from the right, the components' lines from the left again.
_LEFT = ("run", "verdict", "CPU · memory", "emission delay")


def summary_lines(runs: Sequence[Run], not_run: Sequence[NotRun] = ()) -> list[str]:
    """Nothing measured is a dash, never a zero; a run that is no measurement has its reason instead."""
    rows = sorted([*map(row_of, runs), *map(row_not_run, not_run)], key=lambda row: row.case)
    columns = columns_of(rows)
    headings = ["run", "verdict", *(column.heading for column in columns)]
    cells = {
        index: [column.show(row.figures).split("\n") for column in columns]
        for index, row in enumerate(rows)
        if row.figures is not None
    }
    names = [_name(row).split("\n") for row in rows]
    whole: list[list[list[str]]] = [
        [names[index], [rows[index].mark], *figures] for index, figures in cells.items()
    ]
    widths = [
        max([len(heading), *(len(line) for row in whole for line in row[column])])
        for column, heading in enumerate(headings)
    ]
    widths[0] = max([widths[0], *(len(line) for name in names for line in name)])
    widths[1] = max([widths[1], *(len(row.mark) for row in rows)])
    lines = [_line(headings, headings, widths)]
    for index, row in enumerate(rows):
        if index in cells:
            lines += _block([names[index], [row.mark], *cells[index]], headings, widths)
        else:
            said = f"not run: {row.reason}" if row.mark == "NOT RUN" else row.headline
            lines.append(f"{names[index][0].ljust(widths[0])}  {row.mark.ljust(widths[1])}  {said}")
            lines += names[index][1:]
    return lines


def _name(row: Row) -> str:
    """The rate asked for stands below: in a sweep it tells the runs of a case apart."""
    return row.name if row.asked_per_s is None else f"{row.name}\nat {numbers.rate(row.asked_per_s)}"


def _block(cells: Sequence[Sequence[str]], headings: Sequence[str], widths: Sequence[int]) -> list[str]:
    """A row whose cells have several lines."""
    height = max(len(cell) for cell in cells)
    return [
        _line([cell[line] if line < len(cell) else "" for cell in cells], headings, widths)
        for line in range(height)
    ]


def _line(cells: Sequence[str], headings: Sequence[str], widths: Sequence[int]) -> str:
    shown = [
        cell.ljust(width) if heading in _LEFT else cell.rjust(width)
        for cell, heading, width in zip(cells, headings, widths, strict=True)
    ]
    return "  ".join(shown).rstrip()
