"""The query: JetStream, one grouping key a partition, transformWithState over RocksDB."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from spark_jobs.statestore.names import EVENTS, TWO_DOZEN, Stores
from spark_jobs.statestore.processor import OUTPUT, Layout, WorkflowProcessor

_STATE = "spark.sql.streaming.stateStore"
#: Measured, see docs/statestore.md; each can be overridden.
CONF: Mapping[str, str] = {
    f"{_STATE}.providerClass": ("org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the keys means a read before every write.
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # A scan for timers fetches so many keys at a time; what lies behind the timers is large.
    "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch": "256",
    # RocksDB's files are copied by LocalFileSystem; it does not take the raw one of the other jobs.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}
_INPUT = StructType(
    [
        StructField("value", BinaryType()),
        StructField("_seq", LongType()),
        StructField("_subject", StringType()),
    ]
)


@dataclass(frozen=True)
class Shape:
    stores: Stores = "one"
    partitions: int = 1
    timeout_ms: int = 60_000
    max_messages: int = 5_000


def conf_of(shape: Shape, given: Mapping[str, str]) -> dict[str, str]:
    return {**CONF, "spark.sql.shuffle.partitions": str(shape.partitions), **given}


def server_access(servers: str) -> dict[str, str]:
    access = {"servers": servers}
    if os.environ.get("JETLAG_NATS_USER"):
        access["user"] = os.environ["JETLAG_NATS_USER"]
        access["password"] = os.environ.get("JETLAG_NATS_PASSWORD", "")
    return access


def read_messages(spark: SparkSession, servers: str, shape: Shape) -> DataFrame:
    options = {
        "stream": EVENTS,
        "format": "binary",
        "maxOffsetsPerTrigger": str(shape.max_messages),
        **server_access(servers),
    }
    rows = spark.readStream.format("jetstream").options(**options).schema(_INPUT).load()
    bucket = F.split("_subject", "\\.")[1].cast(IntegerType())
    return rows.select("value", "_seq", bucket.alias("bucket"))


def outputs(spark: SparkSession, messages: DataFrame, shape: Shape) -> DataFrame:
    """The processor's rows."""
    slots = F.array(*[F.lit(slot) for slot in slots_of(spark, shape.partitions)])
    slot = F.get(slots, F.col("bucket") % shape.partitions)
    rows = messages.select(slot.alias("slot"), "_seq", "value", "bucket")
    if shape.stores != "operators":
        return _stateful(rows, shape, shape.stores, 0)
    parts = [
        _stateful(rows.where(F.col("bucket") % TWO_DOZEN == number), shape, "one", number)
        for number in range(TWO_DOZEN)
    ]
    return reduce(DataFrame.unionAll, parts)


def _stateful(rows: DataFrame, shape: Shape, layout: Layout, operator: int) -> DataFrame:
    grouped = rows.select("slot", "_seq", "value").groupBy("slot")
    processor = WorkflowProcessor(layout, shape.timeout_ms, operator)
    return grouped.transformWithState(processor, OUTPUT, "Append", "ProcessingTime")


def slots_of(spark: SparkSession, partitions: int) -> list[int]:
    """One grouping key for each partition: numbers that Spark's hash sends to different ones."""
    if partitions == 1:
        return [0]
    number = F.col("id").cast(IntegerType())
    where = F.pmod(F.hash(number), F.lit(partitions))
    first = spark.range(partitions * 40).groupBy(where.alias("p")).agg(F.min(number).alias("slot"))
    found = sorted(row.slot for row in first.collect())
    if len(found) != partitions:
        raise ValueError(f"no grouping key was found for some of {partitions} partitions")
    return found
