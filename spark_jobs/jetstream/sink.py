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
from spark_jobs.jetstream.link import Link, drop_link, with_link
from spark_jobs.jetstream.options import SinkOptions
from spark_jobs.jetstream.publish import Publisher

_TEXT = (StringType, BinaryType)
#: subject, msg_id and value
Rows = tuple[pa.Array, pa.Array, pa.Array]


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
        rows: list[Rows] = []
        first = 0
        for batch in iterator:
            if batch.num_rows:
                rows.append(self._rows(batch, first))
                first += batch.num_rows
        return publish_rows(self._options, rows) if rows else Published(0, 0)

    def _rows(self, batch: pa.RecordBatch, first: int) -> Rows:
        count = batch.num_rows
        if "subject" in self._names:
            subjects = batch.column("subject")
        else:
            subjects = pa.array([self._options.subject] * count, pa.string())
        if "msg_id" in self._names:
            return subjects, batch.column("msg_id"), batch.column("value")
        prefix = _batch_id()
        ids = pa.array([f"{prefix}|{first + i}" for i in range(count)], pa.string())
        return subjects, ids, batch.column("value")


def publish_rows(options: SinkOptions, rows: list[Rows]) -> Published:
    """Store all rows, each once; returns when the server has acknowledged every one."""
    checked = [
        (_checked("subject", subjects), _checked("msg_id", ids), _checked("value", values))
        for subjects, ids, values in rows
    ]

    def publish(link: Link) -> Published:
        publisher = Publisher(link, options.stream, options.max_in_flight, options.ack_timeout_ms / 1000)
        for subjects, ids, values in checked:
            publisher.publish(subjects, ids, values)
        return Published(publisher.finish(), publisher.deduplicated)

    try:
        return with_link(options, publish)
    except PublishError:
        # Its inbox is still subscribed: the next rows' answers would never come on this connection.
        drop_link(options)
        raise


def _checked(name: str, column: pa.Array) -> pa.Array:
    if column.null_count:
        raise PublishError(f"column {name} is null in {column.null_count} rows")
    binary = column.cast(pa.binary())
    # It would end the line on the wire and turn the rest into a command. An id may hold blanks.
    forbidden = {"subject": r"[\s*>]|^$", "msg_id": r"[\r\n]|^$"}.get(name)
    if forbidden and pc.any(pc.match_substring_regex(binary, forbidden)).as_py():
        raise PublishError(f"column {name} has a value that NATS does not allow there")
    return binary


def _batch_id() -> str:
    context: Any = TaskContext.get()
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    return f"{query}|{batch}|{context.partitionId()}"
