"""`writeStream.format("jetstream")`: every row is published, acknowledged, and stored once.

Columns: value (string or binary), subject (string, or option subject), and msg_id (string, optional). The
id goes into Nats-Msg-Id: a batch that Spark replays finds its rows stored already, within the stream's
duplicate_window, which must be longer than the longest restart. Without the column the id is
query|batch|partition|row, which needs the rows of a replayed batch to come in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, StringType, StructType

from spark_jobs.jetstream.errors import PublishError
from spark_jobs.jetstream.link import Link, with_link
from spark_jobs.jetstream.options import SinkOptions
from spark_jobs.jetstream.publish import Publisher

_TEXT = (StringType, BinaryType)


@dataclass
class Published(WriterCommitMessage):
    rows: int
    deduplicated: int


class JetStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, schema: StructType, options: SinkOptions) -> None:
        self._options = options
        self._names = schema.fieldNames()
        allowed = {"value", "subject", "msg_id"}
        for field in schema.fields:
            if field.name not in allowed:
                raise ValueError(f"column {field.name}: this sink takes value, subject and msg_id only")
            if not isinstance(field.dataType, _TEXT):
                raise ValueError(
                    f"column {field.name} must be string or binary, not {field.dataType.simpleString()}"
                )
        if "value" not in self._names:
            raise ValueError("column value is missing: the payload to publish")
        if ("subject" in self._names) == bool(options.subject):
            raise ValueError("give the subject either as a column or as an option")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        # Kept until all is acknowledged: after a lost connection everything is sent again, and the server
        # drops what it has by its id.
        batches = [batch for batch in iterator if batch.num_rows]
        if not batches:
            return Published(0, 0)
        return with_link(self._options, lambda link: self._publish(link, batches))

    def _publish(self, link: Link, batches: list[pa.RecordBatch]) -> Published:
        options = self._options
        publisher = Publisher(link, options.stream, options.max_in_flight, options.ack_timeout_ms / 1000)
        first = 0
        for batch in batches:
            values = self._column(batch, "value")
            subjects = (
                self._column(batch, "subject")
                if "subject" in self._names
                else pa.array([options.subject.encode()] * len(values), pa.binary())
            )
            publisher.publish(subjects, self._ids(batch, first), values)
            first += len(values)
        return Published(publisher.finish(), publisher.deduplicated)

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        column = batch.column(name)
        if column.null_count:
            raise PublishError(
                f"column {name} is null in {column.null_count} rows; nothing of this batch was committed"
            )
        binary = column.cast(pa.binary())
        # It would end the line on the wire and turn the rest into a command. An id may hold blanks.
        forbidden = {"subject": r"[\s*>]|^$", "msg_id": r"[\r\n]|^$"}.get(name)
        if forbidden and pc.any(pc.match_substring_regex(binary, forbidden)).as_py():
            raise PublishError(f"column {name} has a value that NATS does not allow there")
        return binary

    def _ids(self, batch: pa.RecordBatch, first: int) -> pa.Array:
        if "msg_id" in self._names:
            return self._column(batch, "msg_id")
        prefix = _batch_id()
        return pa.array([f"{prefix}|{first + i}".encode() for i in range(batch.num_rows)], pa.binary())


def _batch_id() -> str:
    context: Any = TaskContext.get()
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    return f"{query}|{batch}|{context.partitionId()}"
