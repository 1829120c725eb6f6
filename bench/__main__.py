"""`python -m bench report DIR…`: make the report again out of folders that runs have left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.report import write_report
from bench.report.folder import is_run_folder


class CommandError(Exception):
    """What was asked for cannot be done; one line that names the cause."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done. 1: it could not be done. 2 (argparse): it was asked for wrongly."""
    options = _parser().parse_args(arguments)
    try:
        print(_report(options.folders, options.out))
    except CommandError as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report",
        help="write report.html and the summaries",
        description="Exit codes: 0 written, 1 not, 2 usage.",
    )
    report.add_argument(
        "folders", nargs="+", type=Path, metavar="DIR", help="a run's folder, or one that holds runs"
    )
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write [the first DIR]")
    return parser


def _report(folders: Sequence[Path], out: Path | None) -> Path:
    runs = [run for folder in folders for run in _runs(folder)]
    out_dir = out or folders[0]
    try:
        return write_report(runs, [], out_dir)
    except OSError as error:
        raise CommandError(f"cannot write to {out_dir}: {error.strerror or error}") from None


def _runs(folder: Path) -> list[Path]:
    """The folder itself, or the runs in it; a link such as `latest` would show a run twice."""
    if not folder.is_dir():
        raise CommandError(f"{folder}: no such folder")
    if is_run_folder(folder):
        return [folder]
    runs = sorted(one for one in folder.iterdir() if not one.is_symlink() and is_run_folder(one))
    if not runs:
        raise CommandError(f"{folder}: holds no run (no result.json, manifest.json or metrics.jsonl)")
    return runs


if __name__ == "__main__":
    sys.exit(main())
