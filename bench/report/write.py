"""Writes the report: every format from the same runs, each file whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.report.comma_separated import samples_csv, summary_csv
from bench.report.fault_tables import fault_markdown
from bench.report.folder import read_run
from bench.report.markdown import summary_markdown
from bench.report.not_run import NotRun
from bench.report.openmetrics import openmetrics_text
from bench.report.page import report_page
from bench.report.row import row_not_run, row_of
from bench.report.summary_json import summary_json
from bench.report.trend_section import Trend
from bench.whole_file import write_whole


def write_report(
    run_folders: Iterable[Path], not_run: Sequence[NotRun], out_dir: Path, trends: Sequence[Trend] = ()
) -> Path:
    """All files of the report into `out_dir`; returns report.html. Raises OSError where it cannot write."""
    generated = datetime.now(UTC)
    folders = {folder.resolve(): folder for folder in run_folders}
    # By case, and within a case as given: what was not run stands beside the runs of its case.
    runs = sorted((read_run(folder) for folder in folders), key=lambda run: run.case)
    rows = [row_of(run) for run in runs]
    missing = [row_not_run(row) for row in not_run]
    table = sorted([*rows, *missing], key=lambda row: row.case)
    out_dir.mkdir(parents=True, exist_ok=True)
    write_whole(out_dir / "summary.md", summary_markdown(table) + fault_markdown(runs))
    write_whole(out_dir / "summary.csv", summary_csv(table))
    write_whole(out_dir / "samples.csv", samples_csv(runs))
    write_whole(out_dir / "summary.json", summary_json(runs, rows, missing, generated))
    write_whole(out_dir / "metrics.openmetrics", openmetrics_text(runs, rows))
    page = out_dir / "report.html"
    write_whole(page, report_page(runs, rows, table, generated, trends))
    return page
