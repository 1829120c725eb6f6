"""summary.csv (one line a run) and samples.csv (one line a second): for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from bench.report.plain import number
from bench.report.row import Row
from bench.report.run import Run

_NAMES = ("case", "variant", "run_id", "verdict", "reason")
_OF_COMPONENT = ("cpu_cores_mean", "rss_bytes_max")


def summary_csv(rows: Sequence[Row]) -> str:
    """Figures with all their digits, empty where nothing was measured; units are in the headings."""
    return _table([_flat(row) for row in rows], _NAMES)


def samples_csv(runs: Sequence[Run]) -> str:
    """Every sample of every run, also of an INVALID one: raw data, with the verdict beside it."""
    lines = [
        {"run_id": run.run_id, "case": run.name, "verdict": run.verdict.value, **sample}
        for run in runs
        for sample in run.samples
    ]
    return _table(lines, ("run_id", "case", "verdict"))


def _flat(row: Row) -> dict[str, object]:
    line: dict[str, object] = {
        "case": row.case,
        "variant": row.variant,
        "run_id": row.run_id,
        "verdict": row.mark,
        "reason": row.reason,
    }
    if row.figures is None:
        return line
    figures = asdict(row.figures)
    components, delays = figures.pop("components"), figures.pop("emission_delay_ms")
    line.update(figures)
    line.update({f"emission_delay_ms_{name}": value for name, value in delays.items()})
    for component in components:
        line.update({f"{figure}_{component['name']}": component[figure] for figure in _OF_COMPONENT})
    return line


def _table(lines: Sequence[Mapping[str, object]], first: Sequence[str]) -> str:
    headings = list(dict.fromkeys([*first, *(key for line in lines for key in line)]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(heading) for heading in headings])
    for line in lines:
        writer.writerow([_cell(line.get(heading)) for heading in headings])
    return out.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if number(value) is not None:
        return value
    shown = str(value)
    # A spreadsheet would take it for a formula and run it.
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@", "\t", "\r")) else shown
