"""`python -m bench.driverbench`: what the driver costs, beside nats-py and `nats bench`.

Exit code 0: every bar holds; 1: some do not, and are listed; 2: could not be measured.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from bench.database import create_table
from bench.driverbench import tables
from bench.driverbench.broker import Broker
from bench.driverbench.contest import Contest, Sizes
from bench.driverbench.errors import TurnFailed
from bench.driverbench.growth import climb
from bench.driverbench.natscli import NatsBench, nats_binary
from bench.driverbench.report import Report
from bench.driverbench.turn import standings
from bench.driverbench.writing import Sink
from bench.infra.errors import InfraError, ServiceError
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.service import running
from bench.manifest import machine
from bench.setup.progress import Progress
from bench.setup.tools import NATS_CLI
from bench.verdict import Verdict
from bench.wire.errors import WireError

OUTPUT = Path("reports") / "driver.json"
NOT_MEASURED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    # A CI that cancels sends SIGTERM: ended as by Ctrl-C, services and children are ended too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = Progress("bench-driver")
    try:
        report = _measure(options, progress.tick)
        report.write(OUTPUT)
    except KeyboardInterrupt:
        progress.done()
        print("bench-driver: interrupted", file=sys.stderr)
        return 130
    except (InfraError, ServiceError, TurnFailed, WireError, OSError) as error:
        progress.done()
        print(f"bench-driver: {error}", file=sys.stderr)
        return NOT_MEASURED
    progress.done()
    return _tell(report)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.driverbench", description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=_positive, help="messages a turn; default 300,000")
    parser.add_argument("--rounds", type=_positive, help="rounds in which all take turns; default 3")
    parser.add_argument("--quick", action="store_true", help="one short round, file storage only: rough")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return number


def _measure(options: argparse.Namespace, show: Callable[[str], None]) -> Report:
    quick = options.quick
    messages = options.messages or (60_000 if quick else 300_000)
    sizes = Sizes(messages, rows=max(2_000, messages // 8), rounds=options.rounds or (1 if quick else 3))
    before = machine()
    nats_binary()  # a missing tool is told before anything is started
    nats, tidb = LocalNats(), LocalTidb()
    with ExitStack() as stack:
        show("starting services")
        stack.enter_context(running(nats))
        stack.enter_context(running(tidb))
        create_table(tidb.endpoint)
        broker = stack.enter_context(Broker(nats))
        cli = NatsBench(broker)
        cli.calibrate()
        turns = Contest(broker, cli, Sink(tidb), sizes, show).play(["file"] if quick else ["file", "memory"])
        growth = list(climb(broker, 1.0 if quick else 3.0, show))
        versions = {
            "nats-server": nats.version(),
            "tidb-server": tidb.version(),
            "nats CLI": NATS_CLI.variables[0].partition("=")[2],
        }
    return Report(turns, growth, asdict(sizes), versions, before)


def _tell(report: Report) -> int:
    judged = report.judged
    for table in (
        tables.standings_table(standings(report.turns)),
        tables.growth_table(report.growth),
        tables.bars_table(judged),
    ):
        print(*table, "", sep="\n")
    print(f"all turns: {OUTPUT}")
    for reason in (*judged.invalid_reasons, *map(str, judged.violations)):
        print(f"bench-driver: bar missed: {reason}", file=sys.stderr)
    return 0 if judged.verdict is Verdict.PASS else 1


if __name__ == "__main__":
    sys.exit(main())
