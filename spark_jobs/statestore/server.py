"""The engine as a server: reads workflow messages until it is told to stop.

`python -m spark_jobs.statestore.server` prints `READY` when its first micro-batch is done. Its folder gets
batches.jsonl, progress.jsonl, windows.json and streams-metrics.json. SIGTERM stops it with exit code 0; with
--audit it then reads the store out of the checkpoint and writes what it found. Credentials come from
JETLAG_NATS_USER and JETLAG_NATS_PASSWORD.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.arguments import _at_least
from spark_jobs.failure import ended
from spark_jobs.jetstream.options import parse_sink
from spark_jobs.session import build_session
from spark_jobs.statestore.audit import audit
from spark_jobs.statestore.names import ENDED, READY, STORES
from spark_jobs.statestore.progress import StateProgress
from spark_jobs.statestore.query import Shape, conf_of, outputs, read_messages, server_access
from spark_jobs.statestore.sink import BatchSink
from spark_jobs.stopping import stop_between_batches, stop_silently

_POLL_S = 0.1


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="statestore", allow_abbrev=False, description=__doc__)
    add = parser.add_argument
    add("--servers", required=True)
    add("--checkpoint", required=True)
    add("--folder", required=True, type=Path, help="where figures and metrics go")
    add("--stores", choices=STORES, default="one")
    add("--partitions", type=_at_least(1), default=1)
    add("--timeout-ms", type=_at_least(1), default=60_000)
    add("--max-messages", type=_at_least(1), default=5_000, help="of a micro-batch")
    add("--trigger-ms", type=_at_least(0), default=0)
    add("--master", default="local[*]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE")
    add("--audit", type=Path, help="at the end, what is in the store goes here")
    options = parser.parse_args(argv)
    if any("=" not in pair for pair in options.conf):
        parser.error("--conf wants KEY=VALUE")
    return options


def shape_of(options: argparse.Namespace) -> Shape:
    return Shape(options.stores, options.partitions, options.timeout_ms, options.max_messages)


def start(spark: SparkSession, options: argparse.Namespace, sink: BatchSink) -> StreamingQuery:
    shape = shape_of(options)
    rows = outputs(spark, read_messages(spark, options.servers, shape), shape)
    writer = rows.writeStream.foreachBatch(sink).outputMode("append").queryName("statestore")
    writer = writer.option("checkpointLocation", options.checkpoint)
    return writer.trigger(processingTime=f"{options.trigger_ms} milliseconds").start()


def run(options: argparse.Namespace) -> None:
    asked_to_stop = threading.Event()

    def stop_soon(_signum: int, _frame: FrameType | None) -> None:
        asked_to_stop.set()

    signal.signal(signal.SIGTERM, stop_soon)
    signal.signal(signal.SIGINT, stop_soon)
    conf = conf_of(shape_of(options), dict(pair.split("=", 1) for pair in options.conf))
    spark = build_session("statestore", options.master, conf)
    try:
        sink = BatchSink(options.folder, parse_sink({"stream": ENDED, **server_access(options.servers)}))
        spark.streams.addListener(StateProgress(options.folder))
        query = start(spark, options, sink)
        told = False
        while query.isActive and not asked_to_stop.wait(_POLL_S):
            if sink.first_batch.is_set() and not told:
                told = True
                print(READY, flush=True)
        failure = query.exception() if not asked_to_stop.is_set() else None
        stop_between_batches(spark, query, options.trigger_ms)
        if failure is not None:
            raise failure
        if options.audit:
            begun = time.monotonic()
            found = audit(spark, options.checkpoint, shape_of(options))
            found["took_s"] = time.monotonic() - begun
            partial = options.audit.with_suffix(".new")
            partial.write_text(json.dumps(found, indent=1))
            partial.replace(options.audit)
    finally:
        stop_silently(spark)


def main(argv: list[str]) -> int:
    options = parse(argv)
    return ended("statestore", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
