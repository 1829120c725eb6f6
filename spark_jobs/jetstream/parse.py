"""JSON payloads to Arrow columns of the user's schema.

Compiled code takes the columns out of the bytes where it can (scan.py). Where it cannot, msgspec decodes: a
chunk in which every payload looks like one object on one line at once, its row count checked; if that fails,
each payload by itself, and the bad ones are known. Fields that nobody asked for are skipped, not judged.

msgspec, because of 453 bytes with five fields it takes 0.7 µs, pyarrow.json 2.2, orjson 2.3 (one core,
medians of one sitting).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypedDict

import msgspec
import numpy as np
import pyarrow as pa

from bench.wire.batch import Batch
from bench.wire.frames import Ints
from spark_jobs.jetstream.scan import scanner

_OPEN, _CLOSE, _LF = 0x7B, 0x7D, 0x0A
_BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError)  # a ValidationError is a DecodeError


@dataclass
class Parsed:
    #: One array a field, nulls where a row is bad.
    columns: dict[str, pa.Array]
    bad: list[int]


def check_json_type(name: str, kind: pa.DataType) -> None:
    """Only what JSON itself can say: how to read a timestamp, say, would be a guess."""
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
    sizes = batch.index.header_sizes
    if sizes:
        places, headers = (np.fromiter(of, np.int64, len(sizes)) for of in (sizes, sizes.values()))
        starts[places[places < count]] += headers[places < count]
    return starts, batch.index.ends[:count] - 2


def payloads(batch: Batch, count: int) -> pa.Array:
    """The payloads as one binary column: one copy, made by Arrow."""
    return _cut(batch, *body_bounds(batch, count))


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
    quick = scanner(fields)
    columns = quick.columns(batch.buffer, starts, ends) if quick else None
    if columns is not None:
        return Parsed(columns, [])
    data = batch.data
    if (
        count
        and (ends - starts).min() >= 2
        and (data[starts] == _OPEN).all()
        and (data[ends - 1] == _CLOSE).all()
    ):
        columns = _parse_lines(_cut(batch, starts, ends + 2), fields)  # with its CRLF a payload is a line
        if columns is not None:
            return Parsed(columns, [])
    return parse_rows(payloads(batch, count).to_pylist() if count else [], fields)


def _parse_lines(lines: pa.Array, fields: pa.Schema) -> dict[str, pa.Array] | None:
    """None if this chunk is not for the fast path."""
    size = int(np.frombuffer(lines.buffers()[1], np.int32)[len(lines)])
    text = lines.buffers()[2].slice(0, size)  # Arrow's buffer is padded
    if np.count_nonzero(np.frombuffer(text, np.uint8) == _LF) != len(lines):
        return None
    try:
        rows = _decoder(fields).decode_lines(memoryview(text))
    except _BAD_JSON:
        return None
    # Each line holds at least one object, so an equal count means exactly one object a line.
    return _columns(rows, fields) if len(rows) == len(lines) else None


def parse_rows(payloads: list[bytes], fields: pa.Schema) -> Parsed:
    decoder = _decoder(fields)
    nothing = decoder.decode(b"{}")
    rows: list[Any] = []
    bad: list[int] = []
    for i, payload in enumerate(payloads):
        try:
            rows.append(decoder.decode(payload))
        except _BAD_JSON:
            bad.append(i)
            rows.append(nothing)
    return Parsed(_columns(rows, fields), bad)


def _columns(rows: list[Any], fields: pa.Schema) -> dict[str, pa.Array]:
    # By position: a column may have any name, an attribute may not.
    return {
        field.name: pa.array(values_of(rows), field.type)
        for values_of, field in zip(_getters(fields), fields, strict=True)
    }


@lru_cache(maxsize=8)
def _getters(fields: pa.Schema) -> list[Callable[[list[Any]], list[Any]]]:
    """One a column. A comprehension that names its attribute takes half the time of map(attrgetter)."""
    return [eval(f"lambda rows: [row.{attribute} for row in rows]") for attribute in _attributes(fields)]


@lru_cache(maxsize=8)
def _decoder(fields: pa.Schema) -> msgspec.json.Decoder[Any]:
    attributes = _attributes(fields)
    row = msgspec.defstruct(
        "Row",
        [(attribute, _type(field.type), None) for attribute, field in zip(attributes, fields, strict=True)],
        rename=dict(zip(attributes, fields.names, strict=True)),
        gc=False,
    )
    return msgspec.json.Decoder(row)


def _attributes(fields: pa.Schema) -> list[str]:
    return [f"field_{i}" for i in range(len(fields))]


def _type(kind: pa.DataType) -> Any:
    """What the decoder must find, or null."""
    if pa.types.is_struct(kind):
        inner = {field.name: _type(field.type) for field in kind}
        return TypedDict("Fields", inner, total=False) | None  # type: ignore[operator]
    if pa.types.is_list(kind):
        return list[_type(kind.value_type)] | None  # type: ignore[misc]
    if pa.types.is_integer(kind):
        bound = 1 << (kind.bit_width - 1)
        return Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)] | None
    if pa.types.is_floating(kind):
        return float | None
    return bool | None if pa.types.is_boolean(kind) else str | None
