"""The joins of the suite `joins`: facts from one JetStream stream, joined to rows of others, into a stream.

A lookup that never expires is a table in the workers (join_table.py). One that expires is a stream of its
own, joined by key and event time: a row matches a fact from its own time on for its TTL, and where the fact
may wait, also if it comes up to `wait_us` after it. Rows that miss are emitted with nulls (immediate), or
not at all where the missing part is required (smart).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom
from pyspark.sql.types import LongType, StructField, StructType

from spark_jobs.inline_sink import into_jetstream
from spark_jobs.jetstream.options import parse_sink, parse_source
from spark_jobs.join_table import looked_up


@dataclass(frozen=True)
class LookupOrder:
    stream: str
    #: None is a dimension: read once, never expires.
    ttl_us: int | None
    #: How long after the fact it may still come.
    wait_us: int = 0
    required: bool = False
    #: Of the rows of a micro-batch, this share is read of this topic.
    share: float = 1.0
    #: A dimension that Spark broadcasts in every micro-batch, instead of a table in the workers.
    broadcast: bool = False


@dataclass(frozen=True)
class JoinOrder:
    run_id: str
    stream: str
    results_stream: str
    results_subject: str
    checkpoint: str
    lookups: tuple[LookupOrder, ...] = ()
    #: Rows of a micro-batch, over all topics; 0 is no limit.
    batch_rows: int = 0
    share: float = 1.0
    trigger_ms: int = 100
    #: Options of the source, on top of the job's own.
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, given: dict[str, object]) -> JoinOrder:
        lookups = given.get("lookups", ())
        assert isinstance(lookups, list | tuple)
        return cls(**{**given, "lookups": tuple(LookupOrder(**one) for one in lookups)})  # type: ignore[arg-type]

    @property
    def stateful(self) -> bool:
        return any(lookup.ttl_us is not None for lookup in self.lookups)


def _schema(keys: int) -> StructType:
    names = ("seq", "ts_us", *(f"k{which}" for which in range(keys)), "value")
    return StructType([StructField(name, LongType()) for name in names])


def _read(
    spark: SparkSession, order: JoinOrder, stream: str, share: float, keys: int, access: dict[str, str]
) -> DataFrame:
    options = {
        "stream": stream,
        "minPartitions": str(spark.sparkContext.defaultParallelism),
        **access,
        **order.options,
    }
    if order.batch_rows:
        options["maxOffsetsPerTrigger"] = str(max(1, round(order.batch_rows * share)))
    reader = spark.readStream.format("jetstream").options(**options).schema(_schema(keys))
    return reader.load()


def _timed(rows: DataFrame, name: str) -> DataFrame:
    """With a watermark: within a topic no row is older than the one before it."""
    return rows.withColumn(name, F.timestamp_micros("ts_us")).withWatermark(name, "0 seconds")


def joined(spark: SparkSession, order: JoinOrder, access: dict[str, str]) -> DataFrame:
    """One row a fact: its number, the rows it met, and the sum of their values."""
    count = len(order.lookups)
    facts = _read(spark, order, order.stream, order.share, max(1, count), access)
    if order.stateful:
        facts = _timed(facts, "ts")
    total = F.col("value")
    facts = _look_up(order, facts, access)
    for which, lookup in enumerate(order.lookups):
        if not _in_a_table(lookup):
            facts = _join(spark, order, facts, which, lookup, access)
        total = total + F.coalesce(F.col(f"v{which}"), F.lit(0))
    matches = [F.col(f"m{which}") for which in range(count)]
    return facts.select("seq", total.alias("total"), *matches)


def _in_a_table(lookup: LookupOrder) -> bool:
    return lookup.ttl_us is None and not lookup.broadcast


def _look_up(order: JoinOrder, facts: DataFrame, access: dict[str, str]) -> DataFrame:
    """All tables at once: one crossing into Python, whatever their number."""
    tables = {which: one for which, one in enumerate(order.lookups) if _in_a_table(one)}
    if not tables:
        return facts
    found = [
        looked_up(F.col(f"k{which}"), order.run_id, parse_source({"stream": lookup.stream, **access})).alias(
            f"f{which}"
        )
        for which, lookup in tables.items()
    ]
    facts = facts.select("*", *found)
    for which, lookup in tables.items():
        facts = facts.withColumns({f"m{which}": F.col(f"f{which}.m"), f"v{which}": F.col(f"f{which}.v")})
        facts = facts.drop(f"f{which}")
        if lookup.required:
            facts = facts.where(F.col(f"m{which}").isNotNull())
    return facts


def _join(
    spark: SparkSession,
    order: JoinOrder,
    facts: DataFrame,
    which: int,
    lookup: LookupOrder,
    access: dict[str, str],
) -> DataFrame:
    how = "inner" if lookup.required else "left_outer"
    same = F.col(f"k{which}") == F.col(f"j{which}")
    named = [
        F.col("k0").alias(f"j{which}"),
        F.col("seq").alias(f"m{which}"),
        F.col("value").alias(f"v{which}"),
    ]
    if lookup.ttl_us is None:
        table = _dimension(spark, lookup.stream, access).select(*named)
        return facts.join(F.broadcast(table), same, how).drop(f"j{which}")
    rows = _timed(_read(spark, order, lookup.stream, lookup.share, 1, access), f"t{which}")
    rows = rows.select(*named, f"t{which}")
    good = _within(F.col("ts"), F.col(f"t{which}"), lookup.ttl_us, lookup.wait_us)
    return facts.join(rows, same & good, how).drop(f"j{which}")


def _within(fact: Column, row: Column, ttl_us: int, wait_us: int) -> Column:
    earliest = fact - F.expr(f"INTERVAL {ttl_us} MICROSECONDS")
    latest = fact + F.expr(f"INTERVAL {wait_us} MICROSECONDS") if wait_us else fact
    return (row >= earliest) & (row <= latest)


def _dimension(spark: SparkSession, stream: str, access: dict[str, str]) -> DataFrame:
    """Read now, and kept: Spark would read the stream again in every micro-batch."""
    tasks = str(spark.sparkContext.defaultParallelism)
    reader = spark.read.format("jetstream").options(stream=stream, minPartitions=tasks, **access)
    table = reader.schema(_schema(1)).load().select("seq", "k0", "value").persist()
    table.count()
    return table


def messages(rows: DataFrame, order: JoinOrder) -> DataFrame:
    """The id has the matches too: a replayed row is stored once, another row of the same fact is seen."""
    matches = [name for name in rows.columns if name.startswith("m")]
    parts = [F.coalesce(F.col(name).cast("string"), F.lit("")) for name in matches]
    return rows.select(
        F.lit(order.results_subject).alias("subject"),
        F.concat_ws("|", F.lit(order.run_id), F.col("seq").cast("string"), *parts).alias("msg_id"),
        F.to_json(F.struct("seq", "total", *matches)).alias("value"),
    )


def stored(spark: SparkSession, order: JoinOrder, access: dict[str, str]) -> DataFrame:
    """The whole query: what is emitted is counted as it passes by, and published."""
    rows = joined(spark, order, access).observe("emitted", F.count(F.lit(1)).alias("rows"))
    return into_jetstream(messages(rows, order), parse_sink({"stream": order.results_stream, **access}))
