"""What a pytest session has done so far, and how it ends: report, history, comparison, exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import exit_codes
from bench.compare.command import write_comparison
from bench.compare.comparison import Comparison, compare_runs
from bench.compare.told import comparison_lines
from bench.folders import FolderError, run_folders
from bench.history import HISTORY, append_history, read_history
from bench.matrix import MatrixPlan
from bench.report import NotRun, write_report
from bench.report.fault_tables import fault_lines
from bench.report.folder import read_run
from bench.settings import new_run_id
from bench.summary import summary_lines
from bench.trend import trends_of


@dataclass
class Session:
    reports_dir: Path
    #: Folders of runs as they begin: one that is cut off is in the report too.
    folders: list[Path] = field(default_factory=list)
    #: What searches found, one sentence each.
    found: list[str] = field(default_factory=list)
    plan: MatrixPlan | None = None


@dataclass(frozen=True)
class Ending:
    lines: tuple[str, ...] = ()
    #: Of the comparison; 0 without one.
    exit_code: int = 0


def end(session: Session, not_run: Sequence[NotRun], baseline: Path | None, interrupted: bool) -> Ending:
    """Writes everything there is to write. A folder that cannot be written is told, not raised."""
    folders = [folder for folder in session.folders if folder.is_dir()]
    missing = [*not_run, *(session.plan.not_reached(interrupted) if session.plan else [])]
    if not folders:
        return Ending()
    runs = [read_run(folder) for folder in folders]
    lines = [*summary_lines(runs, missing), *fault_lines(runs), ""]
    lines += [*session.found, ""] if session.found else []
    lines += [f"{run.name}: {folder}" for run, folder in zip(runs, folders, strict=True)]
    out_dir, history = session.reports_dir / new_run_id("report"), session.reports_dir / HISTORY
    try:
        if session.plan is not None:
            # Figures of a run with a fault are the fault's: among the others they would be a change point.
            append_history(history, [run for run in runs if not run.details.get("faults")])
        page = write_report(folders, missing, out_dir, trends_of(runs, read_history(history)))
        lines.append(f"report: {page}")
    except OSError as error:
        lines.append(f"report: cannot be written: {error}")
    if baseline is None:
        return Ending(tuple(lines))
    comparison = _compared(baseline, folders, lines, out_dir)
    return Ending(tuple(lines), comparison.exit_code if comparison else exit_codes.NO_BASELINE)


def _compared(baseline: Path, folders: list[Path], lines: list[str], out_dir: Path) -> Comparison | None:
    """With --baseline; tells itself in `lines`."""
    lines += ["", f"compared with {baseline}"]
    try:
        new = {folder.resolve() for folder in folders}
        # The baseline may be the folder that the new runs have just been written into.
        base = [folder for folder in run_folders(baseline) if folder.resolve() not in new]
    except FolderError as error:
        lines.append(f"no baseline: {error}")
        return None
    comparison = compare_runs([read_run(folder) for folder in base], [read_run(folder) for folder in folders])
    lines += comparison_lines(comparison)
    try:
        lines.append(f"comparison: {write_comparison(comparison, out_dir)}")
    except FolderError as error:
        lines.append(f"comparison: {error}")
    return comparison
