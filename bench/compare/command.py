"""`python -m bench compare BASE NEW`: of folders that runs have left, or of two revisions run turn about."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.compare.comparison import Comparison, compare_runs
from bench.compare.interleave import SETTINGS, Side, interleaved
from bench.compare.metric import METRICS, Metric
from bench.compare.sameness import REFUSED
from bench.compare.told import comparison_json, comparison_lines, comparison_markdown
from bench.folders import FolderError, run_folders
from bench.report.folder import read_run
from bench.settings import new_run_id
from bench.whole_file import write_whole

_EPILOG = (
    "Exit codes: 0 no regression, 1 it could not be done, 2 usage, 7 a run or the comparison is invalid, "
    "8 regression, 9 no baseline (none there, or refused: another machine, case version or setting)."
)


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="say whether NEW is worse than BASE",
        usage="python -m bench compare [options] BASE NEW [-- PYTEST WORDS]",
        description="Compares the runs in two folders; or, with --interleave, two git revisions that it runs "
        "turn about on this machine; what both run stands behind --, e.g. -- -m caseA --profile=short.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("base", metavar="BASE", help="folder of a run or of runs; with --interleave a git revision")
    add("new", metavar="NEW", help="the same; with --interleave '.' is the tree as it stands")
    add("--accept", action="append", default=[], metavar="WHAT", choices=REFUSED, help=_accept_help())
    add("--threshold", action="append", default=[], metavar="METRIC=SHARE", help=_threshold_help())
    add("--out", type=Path, metavar="DIR", help="also write compare.md and compare.json there")
    add("--interleave", type=int, metavar="N", help="run both N times, turn about; 5 or more are best")
    add("--base-options", default="", metavar="WORDS", help="pytest options of BASE alone, in one string")
    add("--new-options", default="", metavar="WORDS", help="pytest options of NEW alone")
    add("--reports-dir", type=Path, default=Path("reports"), metavar="DIR", help="where turns go [reports]")
    parser.set_defaults(do=run)


def _accept_help() -> str:
    return f"let runs differ in this, which is refused otherwise; repeatable: {', '.join(REFUSED)}"


def _threshold_help() -> str:
    shown = ", ".join(f"{metric.name}={metric.threshold_share:g}" for metric in METRICS)
    return f"smallest change that matters, as a share; repeatable [{shown}]"


def run(options: argparse.Namespace) -> int:
    metrics = with_thresholds(options.threshold)
    accepted = list(options.accept)
    out: Path | None = options.out
    if options.interleave is None:
        if options.words or options.base_options or options.new_options:
            raise FolderError("pytest's words and options go with --interleave N")
        base, new = (run_folders(Path(one)) for one in (options.base, options.new))
    else:
        sides = [
            Side("base", options.base, shlex.split(options.base_options)),
            Side("new", options.new, shlex.split(options.new_options)),
        ]
        folder = options.reports_dir / new_run_id("interleave")
        out = out or folder
        if sides[0].options != sides[1].options:
            accepted += SETTINGS
        base, new = interleaved(sides, options.interleave, options.words, folder, _say)
    base_runs, new_runs = ([read_run(one) for one in side] for side in (base, new))
    comparison = compare_runs(base_runs, new_runs, accepted, metrics)
    for line in comparison_lines(comparison):
        print(line)
    if out is not None:
        print(f"\ncomparison: {write_comparison(comparison, out)}")
    return comparison.exit_code


def write_comparison(comparison: Comparison, out_dir: Path) -> Path:
    """compare.md and compare.json; returns the former."""
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        write_whole(out_dir / "compare.json", comparison_json(comparison))
        write_whole(out_dir / "compare.md", comparison_markdown(comparison))
    except OSError as error:
        raise FolderError(f"cannot write to {out_dir}: {error.strerror or error}") from None
    return out_dir / "compare.md"


def with_thresholds(pairs: Sequence[str]) -> list[Metric]:
    """`METRIC=SHARE` on top of the usual ones."""
    known = {metric.name: metric for metric in METRICS}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if name not in known:
            raise FolderError(f"--threshold {pair}: no such metric; choose one of {', '.join(known)}")
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share < float("inf"):
            raise FolderError(f"--threshold {pair}: wanted a share such as {name}=0.1")
        known[name] = replace(known[name], threshold_share=share)
    return list(known.values())


def _say(line: str) -> None:
    print(f"jetlag: {line}", file=sys.stderr, flush=True)
