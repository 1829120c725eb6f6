"""The job: count, sum and maxima by key over tumbling windows, from JetStream to JetStream or TiDB.

Each (key, window) is emitted once, final, shortly after the window closes, the last one too. Windows go by
the time at which JetStream stored an event (`--window-clock=processing`) or by its producer_ts_ms
(`event`).

Run it with `python -m spark_jobs.window_aggregate` or hand this file to spark-submit. When the first micro-
batch is done it prints one line, `READY run_id=…`. SIGTERM stops it with exit code 0; an error is one line
on stderr and 1. Credentials come from JETLAG_NATS_USER, JETLAG_NATS_PASSWORD, JETLAG_TIDB_USER and
JETLAG_TIDB_PASSWORD.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from bench.contract.names import durable
from bench.contract.result import FIELDS
from spark_jobs.arguments import Arguments, parse_arguments
from spark_jobs.failure import ended
from spark_jobs.inline_sink import into_jetstream, into_nothing, into_tidb
from spark_jobs.jetstream.options import parse_sink
from spark_jobs.progress import ProgressFile
from spark_jobs.rehearsal import made_up_events, rehearse
from spark_jobs.session import build_session
from spark_jobs.stopping import stop_between_batches, stop_silently
from spark_jobs.tidb_sink import TidbOptions

#: Only these fields leave the payload; the rest is never parsed into the JVM.
EVENT_SCHEMA = StructType(
    [
        StructField("run_id", StringType()),
        StructField("key", StringType()),
        StructField("value", LongType()),
        StructField("seq", LongType()),
        StructField("producer_ts_ms", LongType()),
        StructField("_tick", TimestampType()),
    ]
)
#: A batch whose events moved the watermark would be followed by an empty one, 0.3 s of CPU for nothing: a
#: tick closes the windows, and the source plans the batch after it by itself.
_OWN_CONF = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
_POLL_S = 0.2


def source_tasks(cores: int) -> int:
    """One keeps two cores busy: its worker's and the JVM's."""
    return max(1, cores // 2)


def read_events(spark: SparkSession, arguments: Arguments, **more: str) -> DataFrame:
    """`more` are options of the source, on top of what the arguments make of it."""
    # In event time a window is over when its last events have had time to arrive.
    grace_ms = arguments.tick_grace_ms + (
        arguments.watermark_delay_ms if arguments.window_clock == "event" else 0
    )
    options = {
        "stream": arguments.stream,
        "startingOffset": arguments.starting_offset,
        "minOffsetsPerTrigger": str(arguments.min_offsets_per_trigger),
        "maxTriggerDelayMs": str(arguments.max_trigger_delay_ms),
        "minPartitions": str(
            arguments.source_partitions or source_tasks(spark.sparkContext.defaultParallelism)
        ),
        "mode": "PERMISSIVE",  # a payload of someone else on our subjects must not stop the run
        "tickMs": str(arguments.window_ms),
        "tickGraceMs": str(grace_ms),
        "tickLeadMs": str(min(arguments.tick_lead_ms, arguments.window_ms - 1)),
        "durable": durable(arguments.case, "events", arguments.variant).name,
    }
    if arguments.max_offsets_per_trigger:
        options["maxOffsetsPerTrigger"] = str(arguments.max_offsets_per_trigger)
    options |= server_access(arguments) | more
    schema = event_schema(arguments)
    return spark.readStream.format("jetstream").options(**options).schema(schema).load()


def event_schema(arguments: Arguments) -> StructType:
    schema = StructType(list(EVENT_SCHEMA.fields))
    if arguments.window_clock == "processing":
        schema.add("_ingest_ts", TimestampType())
    return schema


def server_access(arguments: Arguments) -> dict[str, str]:
    access = {"servers": arguments.servers}
    if os.environ.get("JETLAG_NATS_USER"):
        access |= {
            "user": os.environ["JETLAG_NATS_USER"],
            "password": os.environ.get("JETLAG_NATS_PASSWORD", ""),
        }
    if arguments.tls_ca_file:
        access["tlsCaFile"] = arguments.tls_ca_file
    return access


def aggregate(events: DataFrame, arguments: Arguments) -> DataFrame:
    """One row per (key, window): the contract's result fields and the partition."""
    tick, delay_ms = F.col("_tick"), 0
    stamp = F.col("_ingest_ts")
    if arguments.window_clock == "event":
        delay_ms = arguments.watermark_delay_ms
        after_delay = tick + F.expr(f"INTERVAL {delay_ms} MILLISECONDS")
        stamp = F.coalesce(F.timestamp_millis(F.col("producer_ts_ms")), after_delay)
    rows = events.where((F.col("run_id") == arguments.run_id) | tick.isNotNull()).withColumn("ts", stamp)
    window = F.window("ts", f"{arguments.window_ms} milliseconds")
    grouped = rows.withWatermark("ts", f"{delay_ms} milliseconds").groupBy(window, "key")
    sums = grouped.agg(
        # A tick row is in a group of its own, with a null key. A filter on the key would be pushed below the
        # watermark and drop the ticks before they can move it; a filter on this count cannot be.
        F.count(F.when(tick.isNull(), 1)).alias("count"),
        F.sum("value").alias("sum_value"),
        F.max("seq").alias("seq"),
        F.max("producer_ts_ms").alias("producer_ts_ms"),
    )
    return sums.where(F.col("count") > 0).select(
        F.lit(arguments.run_id).alias("run_id"),
        "key",
        F.unix_millis(F.col("window.end")).alias("window_end_ms"),
        "count",
        "sum_value",
        "seq",
        "producer_ts_ms",
    )


def messages(results: DataFrame, variant: str, partitions: int) -> DataFrame:
    """subject, msg_id and value for the JetStream sink; the partition as bench.contract.partition has it."""
    digit = F.conv(F.substring(F.md5(F.col("key").cast("binary")), 1, 1), 16, 10)
    partition = (digit.cast("int") % partitions).cast("string")
    return results.select(
        F.concat(F.lit(f"results.{variant}."), partition).alias("subject"),
        F.concat_ws("|", "run_id", F.lit(variant), "window_end_ms", "key").alias("msg_id"),
        F.to_json(F.struct(*FIELDS)).alias("value"),
    )


def start(spark: SparkSession, arguments: Arguments) -> StreamingQuery:
    results = aggregate(read_events(spark, arguments), arguments)
    if arguments.sink == "jetstream":
        rows = messages(results, arguments.variant, arguments.partitions)
        options = parse_sink({"stream": arguments.results_stream} | server_access(arguments))
        stored = into_jetstream(rows, options)
    else:
        stored = into_tidb(results, tidb_options(arguments))
    writer = stored.writeStream.format("noop").outputMode("append").queryName("window_aggregate")
    writer = writer.option("checkpointLocation", arguments.checkpoint)
    return writer.trigger(processingTime=f"{arguments.trigger_ms} milliseconds").start()


def rehearse_job(spark: SparkSession, arguments: Arguments) -> None:
    schema, run_id = event_schema(arguments), arguments.run_id
    results = aggregate(made_up_events(spark, schema, run_id, arguments.window_ms), arguments)
    if arguments.sink == "jetstream":
        results = messages(results, arguments.variant, arguments.partitions)
    rehearse(into_nothing(results), arguments.checkpoint, arguments.rehearse_s)


def tidb_options(arguments: Arguments) -> TidbOptions:
    return TidbOptions(
        arguments.tidb_host,
        arguments.tidb_port,
        os.environ.get("JETLAG_TIDB_USER", "root"),
        os.environ.get("JETLAG_TIDB_PASSWORD", ""),
        arguments.variant,
        arguments.tidb_batch_rows,
        tls=arguments.tidb_tls,
    )


def run(arguments: Arguments) -> int:
    asked_to_stop = threading.Event()

    def stop_soon(_signum: int, _frame: FrameType | None) -> None:
        asked_to_stop.set()

    signal.signal(signal.SIGTERM, stop_soon)
    signal.signal(signal.SIGINT, stop_soon)
    spark = build_session("window_aggregate", arguments.master, {**_OWN_CONF, **arguments.conf})
    if arguments.rehearse_s:
        rehearse_job(spark, arguments)
    progress = ProgressFile(arguments.progress_file)
    spark.streams.addListener(progress)
    query = start(spark, arguments)
    told = False
    try:
        while query.isActive and not asked_to_stop.wait(_POLL_S):
            if progress.first_batch.is_set() and not told:
                told = True
                print(f"READY run_id={arguments.run_id}", flush=True)
        failure = query.exception() if not asked_to_stop.is_set() else None
        stop_between_batches(spark, query, arguments.trigger_ms)
        if failure is not None:
            raise failure
    finally:
        stop_silently(spark)
    return 0


def main(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    return ended("window_aggregate", lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
