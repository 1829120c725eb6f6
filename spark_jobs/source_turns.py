"""Turns of the suite `source`, played in one Spark session as they are ordered.

`python -m spark_jobs.source_turns --orders FILE` follows FILE: each line of it is an order (JSON), each is
answered by one line on stdout. Every turn reads events that are there already, filters them, perhaps
aggregates them, and throws the result away; Spark itself counts and sums what came out, so that a turn
which lost or doubled an event is seen. {"end": true} ends the job.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom

from bench.contract.names import FLUSH_KEY
from spark_jobs.arguments import Arguments
from spark_jobs.failure import ended, one_line
from spark_jobs.jetstream.timings import Timings, read_timings
from spark_jobs.orders import asked
from spark_jobs.session import build_session
from spark_jobs.throughput import PREFIX, CpuMeter, read_files, turn_arguments
from spark_jobs.window_aggregate import aggregate, read_events

#: Half of the events; bench.source.truth has the closed form.
KEEP = "value % 2 = 0"
#: How what was observed in each micro-batch becomes one; the rest is summed.
_JOIN: dict[str, Callable[[list[int]], int]] = {"first_end_ms": min, "last_end_ms": max}


@dataclass(frozen=True)
class Order:
    mode: str
    pipeline: str
    run_id: str
    stream: str
    #: The same events as JSON files.
    folder: str
    batch_rows: int
    files_per_trigger: int
    window_ms: int = 1_000
    #: Options of the source, on top of the job's own.
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """What a turn took and what came out of it; `error` alone if it broke."""

    rows: int = 0
    batches: int = 0
    #: Rows and trigger time of each micro-batch, in order.
    batch_ms: list[tuple[int, int]] = field(default_factory=list)
    #: Spark's own account, summed over its micro-batches: triggerExecution, addBatch, walCommit …
    durations_ms: dict[str, int] = field(default_factory=dict)
    #: Of the state of the aggregate: updates, removals, commit.
    state_ms: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    jvm_cpu_s: float = 0.0
    python_cpu_s: float = 0.0
    server_cpu_s: float = 0.0
    source: Timings | None = None
    error: str = ""


def pipeline(events: DataFrame, order: Order, job: Arguments) -> DataFrame:
    """What is left of the events, with Spark's own count and sum of it as it passes by."""
    kept = events.where(KEEP)
    if order.pipeline == "filter":
        ours = F.when(F.col("key") != FLUSH_KEY, 1)
        rows = kept.select("run_id", "key", "value", "seq", "producer_ts_ms")
        return rows.observe("totals", F.count(ours).alias("count"), F.sum("value").alias("sum_value"))
    ends = F.col("window_end_ms")
    return aggregate(kept, job).observe(
        "totals",
        F.sum("count").alias("count"),
        F.sum("sum_value").alias("sum_value"),
        F.count(ends).alias("windows"),
        F.min(ends).alias("first_end_ms"),
        F.max(ends).alias("last_end_ms"),
    )


def play(spark: SparkSession, order: Order, servers: str, meter: CpuMeter) -> Told:
    job = turn_arguments(servers, order.stream, order.run_id, order.window_ms, order.batch_rows)
    with (
        tempfile.TemporaryDirectory(prefix="jetlag-turn-") as checkpoint,
        tempfile.TemporaryDirectory(prefix="jetlag-timings-") as timings,
    ):
        if order.mode == "files":
            events = read_files(spark, order.folder, order.files_per_trigger)
        else:
            events = read_events(spark, job, timings=timings, **order.options)
        jvm_s, all_s, server_s = meter.jvm_s(), meter.spark_s(), meter.server_s()
        writer = pipeline(events, order, job).writeStream.format("noop").outputMode("append")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        jvm_s, all_s, server_s = meter.jvm_s() - jvm_s, meter.spark_s() - all_s, meter.server_s() - server_s
        reports = [json.loads(report.json) for report in query.recentProgress]
        source = read_timings(Path(timings)) if order.mode == "jetstream" else None
    with_rows = [report for report in reports if report["numInputRows"]]
    return Told(
        rows=sum(report["numInputRows"] for report in with_rows),
        batches=len(with_rows),
        batch_ms=[(one["numInputRows"], one["durationMs"]["triggerExecution"]) for one in with_rows],
        durations_ms=_summed(report["durationMs"] for report in with_rows),
        state_ms=_summed(_state_ms(report) for report in with_rows),
        totals=_totals(report.get("observedMetrics", {}).get("totals", {}) for report in reports),
        jvm_cpu_s=jvm_s,
        python_cpu_s=all_s - jvm_s,
        server_cpu_s=server_s,
        source=source,
    )


def _summed(parts: Iterator[dict[str, int]]) -> dict[str, int]:
    whole: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            whole[name] = whole.get(name, 0) + int(value)
    return whole


def _state_ms(report: dict[str, Any]) -> dict[str, int]:
    names = {"updates": "allUpdatesTimeMs", "removals": "allRemovalsTimeMs", "commit": "commitTimeMs"}
    states = report.get("stateOperators") or []
    return {ours: sum(state.get(theirs, 0) for state in states) for ours, theirs in names.items()}


def _totals(observed: Iterator[dict[str, int | None]]) -> dict[str, int]:
    """Over all micro-batches; one in which nothing passed by has nulls."""
    joined: dict[str, list[int]] = {}
    for one in observed:
        for name, value in one.items():
            if value is not None:
                joined.setdefault(name, []).append(int(value))
    return {name: _JOIN.get(name, sum)(values) for name, values in joined.items()}


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="source_turns", allow_abbrev=False)
    add = parser.add_argument
    add("--orders", required=True, type=Path, help="a file to which orders are appended")
    add("--servers", required=True)
    add("--master", default="local[*]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE")
    add("--server-pid", action="append", default=[], type=int, help="whose CPU time is told too")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> None:
    conf = dict(pair.split("=", 1) for pair in options.conf)
    spark = build_session("source_turns", options.master, conf)
    meter = CpuMeter(options.server_pid)
    try:
        for order in asked(options.orders):
            try:
                told = play(spark, Order(**order), options.servers, meter)
            except Exception as error:
                told = Told(error=one_line(error))
            print(PREFIX + json.dumps(asdict(told)), flush=True)
    finally:
        spark.stop()


def main(argv: list[str]) -> int:
    options = _parse(argv)
    return ended("source_turns", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
