"""`python -m bench.sparkbench`: Spark over files and through JetStream side by side; what C-spark sustains.

Exit code 0: every bar holds; 1: some do not, and are listed; 2: could not be measured.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.driverbench.broker import Broker
from bench.driverbench.errors import TurnFailed
from bench.engine.protocol import EngineError
from bench.engine.spark import SparkSettings
from bench.infra.errors import InfraError, ServiceError
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.manifest import machine
from bench.runfiles import ReportsError
from bench.setup.progress import Progress
from bench.sparkbench.cores import cores_apart
from bench.sparkbench.ladder import Length, Rung, climb
from bench.sparkbench.preload import TASKS, Preload, fill_stream, write_files
from bench.sparkbench.raw_fetch import fetch_raw
from bench.sparkbench.report import EFFICIENCY, EMISSION_RATE, Report
from bench.sparkbench.spark_turns import spark_turns
from bench.sparkbench.turn import FILES, JETSTREAM, Turn
from bench.stack import Stack
from bench.verdict import Verdict
from bench.wire.errors import WireError
from bench.wire.native.library import library

REPORTS = Path("reports")
OUTPUT = REPORTS / "spark.json"
APART = REPORTS / "spark-apart.json"
NOT_MEASURED = 2


@dataclass(frozen=True)
class Plan:
    events: int
    batch_rows: int
    #: Of each source, not counted: the JVM compiles for longer than one turn.
    warm: int
    rounds: int
    rates: tuple[int, ...]
    length: Length
    rehearse_s: int


FULL_RATES = (EMISSION_RATE, 60_000, 80_000, 100_000, 125_000, 150_000)
FULL = Plan(4_000_000, 200_000, 3, 3, FULL_RATES, Length(20, 60), 40)
QUICK = Plan(400_000, 100_000, 1, 1, (EMISSION_RATE,), Length(10, 40), 10)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    # A CI that cancels sends SIGTERM: ended as by Ctrl-C, services and children are ended too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = Progress("bench-spark")
    output = APART if options.apart else OUTPUT
    try:
        report = (_measure_apart if options.apart else _measure)(options, progress.tick)
        report.write(output)
    except KeyboardInterrupt:
        progress.done()
        print("bench-spark: interrupted", file=sys.stderr)
        return 130
    except (EngineError, InfraError, ReportsError, ServiceError, TurnFailed, WireError, OSError) as error:
        progress.done()
        print(f"bench-spark: {error}", file=sys.stderr)
        return NOT_MEASURED
    progress.done()
    return _tell(report, output)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.sparkbench", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="one short round and one rate: rough")
    add("--rates", type=_rates, help="events/s of the C-spark runs, parted by commas; a FAIL is the last")
    add("--apart", action="store_true", help="only the sources, with cores that are the server's alone")
    add("--spark-conf", action="append", default=[], metavar="K=V", help="a Spark setting, repeatable")
    return parser.parse_args(arguments)


def _rates(text: str) -> tuple[int, ...]:
    try:
        rates = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: wanted whole numbers, parted by commas") from None
    if min(rates) < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return rates


def _measure(options: argparse.Namespace, show: Callable[[str], None]) -> Report:
    plan = QUICK if options.quick else FULL
    before = machine()
    turns = _compare_sources(plan, options.spark_conf, show)
    rungs = _climb(plan, options.rates or plan.rates, options.spark_conf, show)
    settings = _settings(plan) | {"tasks": TASKS, "rehearse_s": plan.rehearse_s}
    return Report(turns, rungs, settings, before)


def _measure_apart(options: argparse.Namespace, show: Callable[[str], None]) -> Report:
    """What the source costs the engine alone: on a machine of its own the server takes none of its cores."""
    plan = QUICK if options.quick else FULL
    before = machine()
    turns = _compare_sources(plan, options.spark_conf, show, apart=True)
    return Report(turns, (), _settings(plan) | {"apart": True}, before, bars=(EFFICIENCY,))


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "events": plan.events,
        "batch_rows": plan.batch_rows,
        "warm": plan.warm,
        "rounds": plan.rounds,
        "compiled_wire": library() is not None,
    }


def _compare_sources(
    plan: Plan, conf: list[str], show: Callable[[str], None], apart: bool = False
) -> list[Turn]:
    with tempfile.TemporaryDirectory(prefix="jetlag-events-") as folder, ExitStack() as stack:
        nats = LocalNats()
        stack.enter_context(running(nats))
        tasks = stack.enter_context(cores_apart(nats.pids())) if apart else TASKS
        preload = Preload(plan.events, plan.batch_rows, tasks, Path(folder))
        with Broker(nats) as broker:
            show(f"storing {plan.events:,} events")
            fill_stream(broker, preload, "file")
            write_files(broker, preload)
            modes = [FILES, JETSTREAM] * (plan.warm + plan.rounds)
            turns: list[Turn] = []
            with spark_turns(broker, preload, modes, conf, nats.pids()) as played:
                for number, turn in enumerate(played):
                    show(f"turn {number + 1} of {len(modes)}, {turn.mode}: {turn.events_per_s:,.0f} events/s")
                    if number >= 2 * plan.warm:
                        turns.append(turn)
            # When Spark has ended: both cores are the readers' then, and its turns are not disturbed.
            turns += [fetch_raw(broker, preload) for _ in range(plan.rounds)]
    return turns


def _climb(plan: Plan, rates: Sequence[int], conf: list[str], show: Callable[[str], None]) -> list[Rung]:
    spark = SparkSettings(conf=tuple(conf), rehearse_s=plan.rehearse_s)
    with running(LocalNats()) as nats:
        return climb(Stack("local", nats), rates, plan.length, spark, REPORTS, show)


def _tell(report: Report, output: Path) -> int:
    for table in report.tables():
        print(*table, "", sep="\n")
    print(f"all turns: {output}")
    judged = report.judged
    for reason in (*judged.invalid_reasons, *map(str, judged.violations)):
        print(f"bench-spark: bar missed: {reason}", file=sys.stderr)
    return 0 if judged.verdict is Verdict.PASS else 1


if __name__ == "__main__":
    sys.exit(main())
