"""`python -m bench COMMAND`: what can be done with the folders that runs have left; and a generator."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.compare import command as compare_command
from bench.driverbench.errors import TurnFailed
from bench.folders import FolderError, run_folders
from bench.history import HISTORY, read_history
from bench.infra.errors import InfraError
from bench.joins import fakegen
from bench.report import write_report
from bench.report.folder import is_run_folder, read_run
from bench.statestore import command as statestore_command
from bench.trend import trends_of


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done. 1: it could not be done. 2 (argparse): it was asked for wrongly. compare has more."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:cut])
    options.words = given[cut + 1 :]
    try:
        done: int = options.do(options)
    except (FolderError, InfraError, TurnFailed) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{options.command}: interrupted", file=sys.stderr)
        return 130
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report",
        help="write report.html and the summaries again",
        description="Exit codes: 0 written, 1 not, 2 usage.",
    )
    report.add_argument(
        "folders", nargs="+", type=Path, metavar="DIR", help="a run's folder, or one that holds runs"
    )
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write [the first DIR]")
    report.set_defaults(do=_report)
    compare_command.add_to(commands)
    statestore_command.add_to(commands)
    fakegen.add_to(commands)
    return parser


def _report(options: argparse.Namespace) -> int:
    runs = [run for folder in options.folders for run in run_folders(folder)]
    out_dir = options.out or options.folders[0]
    first = options.folders[0]
    history = read_history((first.parent if is_run_folder(first) else first) / HISTORY)
    try:
        print(write_report(runs, [], out_dir, trends_of([read_run(run) for run in runs], history)))
    except OSError as error:
        raise FolderError(f"cannot write to {out_dir}: {error.strerror or error}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
