"""The job's command line, checked before Spark is started."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench.contract.names import EVENTS, RESULTS, check_run_id, durable
from bench.contract.partition import MAX_PARTITIONS


@dataclass(frozen=True)
class Arguments:
    servers: str
    stream: str
    results_stream: str
    run_id: str
    variant: str
    case: str
    sink: Literal["jetstream", "tidb"]
    window_clock: Literal["processing", "event"]
    window_ms: int
    watermark_delay_ms: int
    trigger_ms: int
    tick_grace_ms: int
    tick_lead_ms: int
    checkpoint: str
    starting_offset: str
    max_offsets_per_trigger: int
    min_offsets_per_trigger: int
    max_trigger_delay_ms: int
    source_partitions: int
    master: str | None
    conf: dict[str, str] = field(default_factory=dict)
    progress_file: Path | None = None
    rehearse_s: int = 0
    partitions: int = MAX_PARTITIONS
    tls_ca_file: str = ""
    tidb_host: str = "127.0.0.1"
    tidb_port: int = 4000
    tidb_batch_rows: int = 500
    tidb_tls: bool = False


def _at_least(least: int) -> type[int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"wanted {least} or more, not {text}")
        return number

    parse.__name__ = "whole number"  # argparse names the type in its message
    return parse  # type: ignore[return-value]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="window_aggregate", allow_abbrev=False)
    add = parser.add_argument
    add("--servers", required=True, help="nats://host:port, several parted by commas")
    add("--stream", default=EVENTS)
    add("--results-stream", default=RESULTS)
    add("--run-id", required=True, help="only this run's events are counted")
    add("--variant", default="spark")
    add("--case", default="C", help="names the durable that shows our progress")
    add("--sink", choices=("jetstream", "tidb"), default="jetstream")
    add("--window-clock", choices=("processing", "event"), default="processing")
    add("--window-ms", type=_at_least(100), default=10_000)
    add(
        "--watermark-delay-ms", type=_at_least(0), default=1_000, help="event clock: how late events may come"
    )
    add("--trigger-ms", type=_at_least(0), default=100, help="0: the next batch as soon as one is done")
    add("--tick-grace-ms", type=_at_least(0), default=50, help="wait this long after a window's end")
    add("--tick-lead-ms", type=_at_least(0), help="default: the trigger and half as much, at least 750")
    add("--checkpoint", required=True, help="a folder, or any URL that Spark can write to")
    add("--starting-offset", default="earliest", help="earliest, latest, a sequence or an ISO time")
    add("--max-offsets-per-trigger", type=_at_least(0), default=0, help="0: no limit")
    add(
        "--min-offsets-per-trigger",
        type=_at_least(1),
        default=50_000,
        help="inside a window a batch waits for so many events …",
    )
    add("--max-trigger-delay-ms", type=_at_least(1), default=2_000, help="… but not for longer than this")
    add("--source-partitions", type=_at_least(0), default=0, help="0: one for two cores")
    add("--shuffle-partitions", type=_at_least(1), help="fixed for the life of a checkpoint")
    add("--master", help="a Spark master; left out: local[*], or what spark-submit says")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting")
    add("--progress-file", type=Path, help="one JSON line per micro-batch is appended")
    add("--rehearse-s", type=_at_least(0), default=0, help="run on made-up events for so long first")
    add("--partitions", type=int, choices=range(1, MAX_PARTITIONS + 1), default=MAX_PARTITIONS, metavar="N")
    add("--tls-ca-file", default="")
    add("--tidb-host", default="127.0.0.1")
    add("--tidb-port", type=_at_least(1), default=4000)
    add("--tidb-batch-rows", type=_at_least(1), default=500)
    add("--tidb-tls", action="store_true", help="speak TLS, and check the server's certificate")
    return parser


def parse_arguments(argv: list[str]) -> Arguments:
    """Exits with 2 and one line, as argparse does, when something is wrong."""
    parser = _parser()
    given = vars(parser.parse_args(argv))
    pairs = [setting.partition("=") for setting in given.pop("conf")]
    conf = {key: value for key, equals, value in pairs if equals}
    if len(conf) != len(pairs):
        parser.error("--conf wants KEY=VALUE, each key once")
    shuffle_partitions = given.pop("shuffle_partitions")
    if shuffle_partitions:
        conf["spark.sql.shuffle.partitions"] = str(shuffle_partitions)
    if given["tick_lead_ms"] is None:
        given["tick_lead_ms"] = max(750, given["trigger_ms"] * 3 // 2)
    try:
        check_run_id(given["run_id"])
        durable(given["case"], "events", given["variant"])
    except ValueError as error:
        parser.error(str(error))
    return Arguments(conf=conf, **given)
