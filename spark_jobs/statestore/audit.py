"""What is in the store, by Spark's own reader of state: what the checkpoint holds, not what we remember."""

from __future__ import annotations

from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom

from spark_jobs.statestore.keys import TOTALS
from spark_jobs.statestore.names import TWO_DOZEN
from spark_jobs.statestore.processor import Layout, state_names
from spark_jobs.statestore.query import Shape
from spark_jobs.statestore.values import decode_totals

_WORKFLOW = "tasks LONG, started LONG, completed LONG, failed LONG"


def entries(spark: SparkSession, checkpoint: str, shape: Shape) -> DataFrame:
    """Columns `name` and `value`, of every store."""
    operators = TWO_DOZEN if shape.stores == "operators" else 1
    layout: Layout = "variables" if shape.stores == "variables" else "one"
    parts = [
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("stateVarName", name)
        .load(checkpoint)
        for operator in range(operators)
        for name in state_names(layout)
    ]
    whole = reduce(DataFrame.unionAll, parts)
    return whole.select(F.col("user_map_key.key").alias("name"), F.col("user_map_value.value").alias("value"))


def audit(spark: SparkSession, checkpoint: str, shape: Shape) -> dict[str, Any]:
    rows = entries(spark, checkpoint, shape)
    value = F.col("value")
    letter = F.substring(value, 1, 1).cast("string")
    parts = F.split("name", "/")
    check_sum = F.lpad(F.lower(F.hex(F.crc32(F.expr("substring(value, 10)")))), 8, "0")
    torn = (letter == "C") & (F.substring(value, 2, 8).cast("string") != check_sum)
    timer_print = F.when(parts[0] == "t", F.crc32(value))
    marked = rows.select(
        parts[0].alias("kind"),
        F.when(parts[0].isin("workflow", "taskrun"), letter).alias("letter"),
        (F.length("name") + F.length(value)).alias("bytes"),
        F.when(parts[0] == "taskrun", torn).alias("torn"),
        timer_print.alias("print"),
    )
    counted = marked.groupBy("kind", "letter").agg(
        F.count("*").alias("count"),
        F.sum("bytes").alias("bytes"),
        F.coalesce(F.sum(F.col("torn").cast("long")), F.lit(0)).alias("torn"),
        F.coalesce(F.sum("print"), F.lit(0)).alias("print"),
    )
    kinds = [row.asDict() for row in counted.collect()]
    totals = [
        msgspec.to_builtins(decode_totals(bytes(row.value)))
        for row in rows.where(F.col("name") == TOTALS).collect()
    ]
    return {"kinds": kinds, "totals": totals, **_workflows(rows)}


def _workflows(rows: DataFrame) -> dict[str, int]:
    """Each workflow against its TaskRuns."""
    parts = F.split("name", "/")
    fields = F.from_json(F.expr("substring(value, 2)").cast("string"), _WORKFLOW)
    workflows = rows.where(parts[0] == "workflow").select(parts[1].alias("workflow"), fields.alias("w"))
    letter = F.substring("value", 1, 1).cast("string")
    runs = rows.where(parts[0] == "taskrun").select(parts[1].alias("workflow"), letter.alias("letter"))
    counts = runs.groupBy("workflow").agg(
        F.count("*").alias("runs"),
        F.count(F.when(F.col("letter") == "C", 1)).alias("completed"),
        F.count(F.when(F.col("letter") == "F", 1)).alias("failed"),
    )
    joined = workflows.join(counts, "workflow", "full_outer")
    differ = (
        F.col("w").isNull()
        | (F.coalesce("runs", F.lit(0)) != F.col("w.started"))
        | (F.coalesce("completed", F.lit(0)) != F.col("w.completed"))
        | (F.coalesce("failed", F.lit(0)) != F.col("w.failed"))
    )
    row = joined.agg(
        F.count(F.when(F.coalesce(differ, F.lit(True)), 1)).alias("differ"),
        F.coalesce(F.max("runs"), F.lit(0)).alias("most_runs"),
    ).collect()[0]
    return {"workflows_that_differ": int(row.differ), "most_runs": int(row.most_runs)}
