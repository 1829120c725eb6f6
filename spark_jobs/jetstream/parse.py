"""JSON payloads to Arrow columns of the user's schema.

pyarrow.json reads a whole chunk at once, but fails it for one bad row and skips blank payloads in silence.
So it only gets chunks in which every payload looks like one object on one line, its row count is checked,
and everything else goes row by row through orjson, by rules that are at least as strict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json as pajson

from bench.wire.batch import Batch
from bench.wire.frames import Ints

_OPEN, _CLOSE, _LF = 0x7B, 0x7D, 0x0A


@dataclass
class Parsed:
    #: One array a field, nulls where a row is bad.
    columns: dict[str, pa.Array]
    bad: list[int]


def check_json_type(name: str, kind: pa.DataType) -> None:
    """Only what JSON itself can say, so that no two parsers can differ on it."""
    if pa.types.is_struct(kind):
        for field in kind:
            check_json_type(f"{name}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        check_json_type(f"{name}[]", kind.value_type)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_float32(kind)
        or pa.types.is_float64(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
    ):
        raise ValueError(
            f"column {name} has type {kind}, which JSON does not know: declare it as a string or a number "
            "and cast it"
        )


def body_bounds(batch: Batch, count: int) -> tuple[Ints, Ints]:
    """Where the payloads of the first `count` messages start and end, headers left out."""
    starts = batch.index.line_ends[:count] + 2
    for i, size in batch.index.header_sizes.items():
        if i < count:
            starts[i] += size
    return starts, batch.index.ends[:count] - 2


def payloads(batch: Batch, count: int) -> pa.Array:
    """The payloads as one binary column: one copy, made by Arrow."""
    starts, ends = body_bounds(batch, count)
    return _cut(batch, starts, ends)


def _cut(batch: Batch, starts: Ints, ends: Ints) -> pa.Array:
    """buffer[starts[i]:ends[i]] for each i: gaps and pieces as one Arrow array over the buffer, and every
    second taken.
    """
    count = len(starts)
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = np.concatenate([starts[:1], ends[:-1]])
    offsets[1::2] = starts
    offsets[-1] = ends[-1]
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(memoryview(batch.buffer))]
    )
    return pieces.take(pa.array(np.arange(1, 2 * count, 2)))


def parse_json(batch: Batch, count: int, fields: pa.Schema) -> Parsed:
    starts, ends = body_bounds(batch, count)
    data = batch.data
    if (
        count
        and (ends - starts).min() >= 2
        and (data[starts] == _OPEN).all()
        and (data[ends - 1] == _CLOSE).all()
    ):
        table = _parse_lines(_cut(batch, starts, ends + 2), fields)  # with its CRLF a payload is a line
        if table is not None:
            return Parsed(table, [])
    return parse_rows(_cut(batch, starts, ends).to_pylist() if count else [], fields)


def _parse_lines(lines: pa.Array, fields: pa.Schema) -> dict[str, pa.Array] | None:
    """None if this chunk is not for the fast path."""
    text = lines.buffers()[2]
    size = int(np.frombuffer(lines.buffers()[1], np.int32)[len(lines)])
    text = text.slice(0, size)  # Arrow's buffer is padded
    if np.count_nonzero(np.frombuffer(text, np.uint8) == _LF) != len(lines):
        return None
    try:
        table = pajson.read_json(
            pa.BufferReader(text),
            read_options=pajson.ReadOptions(use_threads=False, block_size=max(size, 1)),
            parse_options=pajson.ParseOptions(explicit_schema=fields, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid:
        return None
    # Each line holds at least one object, so an equal count means exactly one object a line.
    if table.num_rows != len(lines):
        return None
    return {name: table.column(name).combine_chunks() for name in fields.names}


def parse_rows(rows: list[bytes], fields: pa.Schema) -> Parsed:
    columns: dict[str, list[Any]] = {name: [] for name in fields.names}
    bad: list[int] = []
    for i, row in enumerate(rows):
        values = _parse_row(row, fields)
        if values is None:
            bad.append(i)
        for name in fields.names:
            columns[name].append(None if values is None else values.get(name))
    return Parsed({field.name: pa.array(columns[field.name], field.type) for field in fields}, bad)


def _parse_row(row: bytes, fields: pa.Schema) -> dict[str, Any] | None:
    try:
        values = orjson.loads(row)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(values, dict):
        return None
    return values if all(_fits(values.get(field.name), field.type) for field in fields) else None


def _fits(value: Any, kind: pa.DataType) -> bool:
    if value is None:
        return True
    if pa.types.is_string(kind):
        return isinstance(value, str)
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    if pa.types.is_integer(kind):
        bound = 1 << (kind.bit_width - 1)
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if pa.types.is_floating(kind):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if pa.types.is_list(kind):
        return isinstance(value, list) and all(_fits(item, kind.value_type) for item in value)
    return isinstance(value, dict) and all(_fits(value.get(field.name), field.type) for field in kind)
