"""The source's rows as Arrow: payload columns by the user's schema, metadata columns by name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from bench.wire.frames import Ints
from spark_jobs.jetstream.chunk import Chunk
from spark_jobs.jetstream.errors import BadRowError
from spark_jobs.jetstream.options import SourceOptions
from spark_jobs.jetstream.parse import Parsed, check_json_type, parse_json, payloads

VALUE = "value"
_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", StringType())]))

#: What a schema may name besides payload fields.
METADATA: dict[str, DataType] = {
    "_subject": StringType(),
    "_seq": LongType(),
    "_stored_ts": TimestampType(),
    "_ingest_ts": TimestampType(),  # the stored time, but never before a window that was closed: see ticks.py
    "_tick": TimestampType(),  # the boundary, in a tick row; null in an event
    "_headers": _HEADERS,
    "_corrupt_record": StringType(),  # the payload of a bad row, with mode PERMISSIVE
}

#: What of it only a consumer's deliveries carry.
NOT_IN_DIRECT_GETS = {"_subject", "_stored_ts", "_ingest_ts", "_headers"}

#: The schema of format=binary when the user gives none.
BINARY_SCHEMA = StructType(
    [StructField(VALUE, BinaryType())]
    + [StructField(name, METADATA[name]) for name in ("_subject", "_seq", "_stored_ts")]
)


class RowShape:
    """How messages become rows of `schema`."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._options = options
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        self._fields: list[pa.Field] = []
        for field in schema.fields:
            if field.name in METADATA:
                if field.dataType != METADATA[field.name]:
                    wanted = METADATA[field.name].simpleString()
                    raise ValueError(
                        f"column {field.name} must be of type {wanted}, not {field.dataType.simpleString()}"
                    )
            elif options.format == "json":
                arrow = self._arrow.field(field.name)
                check_json_type(field.name, arrow.type)
                self._fields.append(pa.field(field.name, arrow.type))
            elif field.name != VALUE or not isinstance(field.dataType, BinaryType):
                raise ValueError(
                    f"column {field.name}: format=binary has value (binary) and {', '.join(METADATA)} only"
                )
        self._json = pa.schema(self._fields)
        self._bad_rows = 0
        self._first_bad = 0

    def rows(self, chunk: Chunk, floor_ms: int) -> pa.RecordBatch:
        count = len(chunk.seqs)
        columns: dict[str, pa.Array] = {}
        bad: list[int] = []
        if self._options.format == "binary":
            if VALUE in self._arrow.names:
                columns[VALUE] = payloads(chunk.batch, count)
        elif self._fields:
            parsed = parse_json(chunk.batch, count, self._json)
            columns, bad = parsed.columns, parsed.bad
            self._judge(parsed, chunk)
        for name in self._arrow.names:
            if name in METADATA:
                columns[name] = self._metadata(name, chunk, floor_ms, bad)
        arrays = [columns[name] for name in self._arrow.names]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._arrow)
        if bad and self._options.mode == "DROPMALFORMED":
            keep = np.ones(count, np.bool_)
            keep[bad] = False
            batch = batch.filter(pa.array(keep))
        return batch

    def tick_row(self, tick_ms: int) -> pa.RecordBatch:
        stamp = pa.array([tick_ms * 1000], pa.timestamp("us", "UTC"))
        arrays = [
            stamp if field.name in ("_ingest_ts", "_tick") else pa.nulls(1, field.type)
            for field in self._arrow
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow)

    def _judge(self, parsed: Parsed, chunk: Chunk) -> None:
        if not parsed.bad:
            return
        first = parsed.bad[0]
        seq = int(chunk.seqs[first])
        if self._options.mode == "FAILFAST":
            where = f"sequence {seq} of stream {self._options.stream}"
            payload = chunk.batch.payload(first)[:80]
            raise BadRowError(f"{where} is not JSON of this schema: {payload!r}; see option mode")
        self._first_bad = self._first_bad or seq
        self._bad_rows += len(parsed.bad)

    def tell_bad_rows(self) -> None:
        """Once a task: a line for each chunk would run at the speed of whoever reads the log."""
        if self._bad_rows:
            where = f"sequence {self._first_bad} of stream {self._options.stream}"
            print(f"jetstream: {self._bad_rows} bad rows, the first at {where}", file=sys.stderr)

    def _metadata(self, name: str, chunk: Chunk, floor_ms: int, bad: list[int]) -> pa.Array:
        batch, count = chunk.batch, len(chunk.seqs)
        if name == "_seq":
            return pa.array(chunk.seqs)
        if name == "_stored_ts":
            return _timestamps(chunk.stored_us())
        if name == "_ingest_ts":
            return _timestamps(np.maximum(chunk.stored_us(), floor_ms * 1000))
        if name == "_subject":
            return pa.array([batch.subject(i) for i in range(count)], pa.string())
        if name == "_headers":
            kind = self._arrow.field(name).type
            return pa.array([_headers(batch.headers(i)) for i in range(count)], kind)
        if name == "_corrupt_record":
            texts: list[str | None] = [None] * count
            for i in bad:
                texts[i] = batch.payload(i).decode(errors="replace")
            return pa.array(texts, pa.string())
        return pa.nulls(count, self._arrow.field(name).type)


def _timestamps(micros: Ints) -> pa.Array:
    return pa.array(micros).cast(pa.timestamp("us", "UTC"))


def _headers(block: bytes) -> list[dict[str, Any]] | None:
    if not block:
        return None
    lines = block.decode(errors="replace").split("\r\n")[1:]
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return [{"key": key, "value": value.strip()} for key, value in pairs]
