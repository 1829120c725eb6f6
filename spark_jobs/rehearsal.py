"""A rehearsal before the job is ready: the same query over made-up events, its results thrown away.

A JVM compiles what it runs often, and until then a window takes two to three times as long to close: for the
first hundred micro-batches, a minute or two. A pipeline that has run for a day knows nothing of that, so a
measurement of one should not either. Nothing is read from or written to a server here.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

FORMAT = "rehearsal"
#: As many as two seconds of 10,000 events/s, over the keys of the benchmark.
_ROWS = 20_000
_KEYS = 20_000
_TASKS = 2
#: Windows close at every fourth batch.
_BATCHES_A_WINDOW = 4
_FIRST_MS = 1_700_000_000_000


@dataclass
class Part(InputPartition):
    batch: int
    task: int


class RehearsalSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: StructType) -> RehearsalReader:  # noqa: N802 - Spark's name
        return RehearsalReader(schema, self.options["runid"], int(self.options["windowms"]))


class RehearsalReader(DataSourceStreamReader):
    """A batch of events whenever it is asked, each batch a quarter of a window later."""

    def __init__(self, schema: StructType, run_id: str, window_ms: int) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._run_id = run_id
        self._step_ms = max(1, window_ms // _BATCHES_A_WINDOW)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"batch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002, N802
        return {"batch": start["batch"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Part(batch, task) for batch in range(start["batch"], end["batch"]) for task in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        yield self._rows(partition)

    def _rows(self, part: Part) -> pa.RecordBatch:
        count = _ROWS // _TASKS
        seqs = np.arange(count) * _TASKS + part.task + part.batch * _ROWS
        ts_ms = _FIRST_MS + part.batch * self._step_ms + (seqs % _ROWS) * self._step_ms // _ROWS
        known = {
            "run_id": pa.array([self._run_id] * count),
            "key": pa.array([f"key_{number:05d}" for number in (seqs * 7919 % _KEYS).tolist()]),
            "value": pa.array(seqs % 1000),
            "seq": pa.array(seqs),
            "producer_ts_ms": pa.array(ts_ms),
            "_ingest_ts": pa.array(ts_ms * 1000).cast(pa.timestamp("us", "UTC")),
        }
        columns = [known.get(field.name, pa.nulls(count, field.type)) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def made_up_events(spark: SparkSession, schema: StructType, run_id: str, window_ms: int) -> DataFrame:
    spark.dataSource.register(RehearsalSource)
    reader = spark.readStream.format(FORMAT).options(runId=run_id, windowMs=str(window_ms))
    return reader.schema(schema).load()


def rehearse(rows: DataFrame, checkpoint: str, seconds: float) -> int:
    """Run the query for that long; returns the number of micro-batches."""
    folder = f"{checkpoint}-rehearsal"
    writer = rows.writeStream.format("noop").outputMode("append").queryName(FORMAT)
    query: StreamingQuery = (
        writer.option("checkpointLocation", folder).trigger(processingTime="0 seconds").start()
    )
    deadline = time.monotonic() + seconds
    try:
        while query.isActive and time.monotonic() < deadline:
            time.sleep(0.1)
        failure = query.exception()
        if failure is not None:
            raise failure
        progress = query.lastProgress
        return 0 if progress is None else int(progress["batchId"]) + 1
    finally:
        query.stop()
        shutil.rmtree(folder, ignore_errors=True)  # a URL's is left: it is Spark's to write, not ours
