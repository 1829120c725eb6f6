"""How fast the job's aggregate runs by itself: over events that lie in JetStream, or over the same in files.

`python -m spark_jobs.throughput` plays the turns it is told in one session and prints a JSON line for each.
Every turn reads all events in micro-batches of the same size and throws the results away, so that turns
differ by their source alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom
from pyspark.sql.types import StructType, TimestampType

from spark_jobs.arguments import Arguments, parse_arguments
from spark_jobs.failure import ended
from spark_jobs.session import build_session
from spark_jobs.window_aggregate import EVENT_SCHEMA, aggregate, read_events

MODES = ("files", "jetstream")
PREFIX = "TURN "


@dataclass(frozen=True)
class BatchTime:
    rows: int
    trigger_ms: int


@dataclass(frozen=True)
class TurnTime:
    """What a turn took: by Spark's own account of its batches, and all in all."""

    mode: str
    batches: list[BatchTime]
    elapsed_s: float
    spark_cpu_s: float
    server_cpu_s: float


class CpuMeter:
    """CPU seconds of this process and all below it (the JVM, the Python workers), and of given others."""

    def __init__(self, others: Sequence[int]) -> None:
        self._ours = psutil.Process(os.getpid())
        self._others = [psutil.Process(pid) for pid in others]

    def spark_s(self) -> float:
        return sum(_cpu_s(process) for process in (self._ours, *self._ours.children(recursive=True)))

    def jvm_s(self) -> float:
        """Without the workers that the JVM has started."""
        total_s = 0.0
        for child in self._ours.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # a worker that has just ended
                if child.name() == "java":
                    times = child.cpu_times()
                    total_s += float(times.user + times.system)
        return total_s

    def server_s(self) -> float:
        return sum(_cpu_s(process) for process in self._others)


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0  # a worker that has ended meanwhile: its parent's children_* have it
    return float(times.user + times.system + times.children_user + times.children_system)


def read_files(spark: SparkSession, folder: str, files_per_trigger: int) -> DataFrame:
    """The engine's ceiling: the same events, one JSON object a line."""
    names = [field for field in EVENT_SCHEMA.fields if not field.name.startswith("_")]
    lines = spark.readStream.schema(StructType(names)).option("maxFilesPerTrigger", files_per_trigger)
    nothing = F.lit(None).cast(TimestampType())
    return lines.json(folder).withColumn("_tick", nothing)


def play(events: DataFrame, job: Arguments, mode: str, meter: CpuMeter) -> TurnTime:
    with tempfile.TemporaryDirectory(prefix="jetlag-turn-") as checkpoint:
        started_s, spark_s, server_s = time.monotonic(), meter.spark_s(), meter.server_s()
        writer = aggregate(events, job).writeStream.format("noop").outputMode("append")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        elapsed_s = time.monotonic() - started_s
        reports = [json.loads(report.json) for report in query.recentProgress]
    batches = [
        BatchTime(report["numInputRows"], report["durationMs"]["triggerExecution"])
        for report in reports
        if report["numInputRows"]
    ]
    return TurnTime(mode, batches, elapsed_s, meter.spark_s() - spark_s, meter.server_s() - server_s)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="throughput", allow_abbrev=False)
    add = parser.add_argument
    add("--servers", required=True)
    add("--stream", required=True)
    add("--run-id", required=True)
    add("--folder", required=True, help="the same events as JSON files")
    add("--turns", required=True, help=f"{' and '.join(MODES)}, parted by commas")
    add("--batch-rows", type=int, required=True, help="events of a micro-batch")
    add("--files-per-trigger", type=int, required=True, help="files that hold as many")
    add("--window-ms", type=int, default=1000)
    add("--master", default="local[*]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE")
    add("--server-pid", action="append", default=[], type=int, help="whose CPU time is told too")
    options = parser.parse_args(argv)
    options.turns = options.turns.split(",")
    for mode in options.turns:
        if mode not in MODES:
            parser.error(f"--turns {mode}: choose from {', '.join(MODES)}")
    return options


def turn_arguments(servers: str, stream: str, run_id: str, window_ms: int, batch_rows: int) -> Arguments:
    """Of the job whose query a turn plays."""
    words = ["--servers", servers, "--stream", stream, "--run-id", run_id]
    words += ["--checkpoint", "a folder per turn", "--window-clock", "event"]
    words += ["--window-ms", str(window_ms), "--max-offsets-per-trigger", str(batch_rows)]
    return parse_arguments(words)


def run(options: argparse.Namespace) -> None:
    conf = dict(pair.split("=", 1) for pair in options.conf)
    spark = build_session("throughput", options.master, conf)
    meter = CpuMeter(options.server_pid)
    job = turn_arguments(
        options.servers, options.stream, options.run_id, options.window_ms, options.batch_rows
    )
    try:
        for mode in options.turns:
            if mode == "files":
                events = read_files(spark, options.folder, options.files_per_trigger)
            else:
                events = read_events(spark, job)
            print(PREFIX + json.dumps(asdict(play(events, job, mode, meter))), flush=True)
    finally:
        spark.stop()


def main(argv: list[str]) -> int:
    options = _parse(argv)
    return ended("throughput", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
