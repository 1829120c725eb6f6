"""JSON payloads to Arrow: the fast path and the careful one must never disagree."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wire.batch import Batch
from bench.wire.frames import index_frames
from spark_jobs.jetstream.parse import Parsed, check_json_type, parse_json, parse_rows, payloads

FIELDS = pa.schema([("key", pa.string()), ("value", pa.int64()), ("ratio", pa.float64()), ("on", pa.bool_())])


def batch_of(bodies: list[bytes], header: bytes = b"") -> Batch:
    """A batch as the server would have sent it, some junk before and after."""
    buffer = bytearray(b"#" * 7)
    start = len(buffer)
    for i, body in enumerate(bodies):
        block = header if i % 2 else b""
        sizes = b"%d %d" % (len(block), len(block) + len(body)) if block else b"%d" % len(body)
        verb = b"HMSG" if block else b"MSG"
        buffer += verb + b" events.1 2 $JS.ACK.S.c.1.%d.1.1794825559979560589.9 " % i + sizes + b"\r\n"
        buffer += block + body + b"\r\n"
    stop = len(buffer)
    index = index_frames(buffer, start, stop)
    return Batch(buffer + b"#" * 64, index, index.starts)


def parse(bodies: list[bytes], fields: pa.Schema = FIELDS, header: bytes = b"") -> Parsed:
    return parse_json(batch_of(bodies, header), len(bodies), fields)


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    table = pa.table(parsed.columns) if parsed.columns else pa.table({})
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_good_rows_come_out_typed_and_in_order() -> None:
    """Every count and sum of the pipeline would be wrong."""
    bodies = [
        b'{"value":%d,"key":"k%d","extra":[1,{"a":2}],"ratio":%d.5,"on":true}' % (i, i, i) for i in range(50)
    ]
    parsed = parse(bodies)
    assert parsed.bad == []
    assert rows(parsed) == [{"key": f"k{i}", "value": i, "ratio": i + 0.5, "on": True} for i in range(50)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"not json",
        b"[1]",
        b"7",
        b"null",
        b'{"value":"text"}',
        b'{"value":1.5}',
        b'{"value":true}',
        b'{"value":9223372036854775808}',
        b'{"key":7}',
        b'{"on":1}',
        b'{"value":1',
        b'{"value":1}{"value":2}',
        b'{"value":1}\n{"value":2}',
        b'{"value":NaN}',
    ],
)
def test_a_bad_row_is_found_and_leaves_its_neighbours_alone(body: bytes) -> None:
    """One bad event would lose a block of good ones, or shift every row after it."""
    good = [b'{"key":"a","value":1}', b'{"key":"b","value":2}']
    parsed = parse([good[0], body, good[1]])
    assert parsed.bad == [1]
    assert [row["value"] for row in rows(parsed)] == [1, None, 2]
    assert [row["key"] for row in rows(parsed)] == ["a", None, "b"]


def test_two_objects_in_one_payload_do_not_make_up_for_a_blank_one() -> None:
    """The row count alone would match, and events would be counted twice and never."""
    parsed = parse([b'{"value":1}{"value":2}', b"", b'{"value":3}'])
    assert parsed.bad == [0, 1]


def test_line_breaks_inside_a_payload_are_json_too() -> None:
    """Pretty-printed events would be taken for bad rows."""
    parsed = parse([b'{\n "value": 1\n}', b' {"value": 2} '])
    assert (parsed.bad, [row["value"] for row in rows(parsed)]) == ([], [1, 2])


def test_missing_and_null_fields_are_null() -> None:
    """An optional field would make its event a bad row."""
    parsed = parse([b"{}", b'{"value":null,"key":"x"}'])
    assert parsed.bad == []
    assert rows(parsed)[1] == {"key": "x", "value": None, "ratio": None, "on": None}


def test_headers_are_no_part_of_the_payload() -> None:
    """Events published with headers would all be bad rows."""
    bodies = [b'{"value":%d}' % i for i in range(6)]
    header = b"NATS/1.0\r\nA: b\r\n\r\n"
    assert [row["value"] for row in rows(parse(bodies, header=header))] == list(range(6))
    assert payloads(batch_of(bodies, header), 6).to_pylist() == bodies


def test_only_the_first_messages_are_taken() -> None:
    """Events after the range's end would be counted in two micro-batches."""
    batch = batch_of([b'{"value":%d}' % i for i in range(9)])
    assert [row["value"] for row in rows(parse_json(batch, 4, FIELDS))] == [0, 1, 2, 3]
    assert len(payloads(batch, 4)) == 4


def test_nested_fields() -> None:
    """A schema with structs or arrays would fail in one path and pass in the other."""
    fields = pa.schema([("a", pa.list_(pa.int64())), ("s", pa.struct([("x", pa.string())]))])
    bodies = [b'{"a":[1,null],"s":{"x":"y","z":1}}', b'{"a":[],"s":null}']
    assert rows(parse(bodies, fields)) == rows(parse_rows(bodies, fields))
    assert parse([bodies[0], b'{"a":["1"]}'], fields).bad == [1]


def test_a_type_that_json_lacks_is_refused_by_name() -> None:
    """Two parsers would read a timestamp in two ways."""
    with pytest.raises(ValueError, match="column when"):
        check_json_type("when", pa.timestamp("us", "UTC"))
    with pytest.raises(ValueError, match=r"column a\[\]\.b"):
        check_json_type("a", pa.list_(pa.struct([("b", pa.binary())])))


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=8), st.lists(st.integers(), max_size=2),
)  # fmt: skip
_OBJECTS = st.dictionaries(st.sampled_from(["key", "value", "ratio", "on", "other"]), _VALUES, max_size=5)


@given(st.lists(st.one_of(_OBJECTS, _VALUES, st.binary(max_size=6)), max_size=8), st.booleans())
def test_both_paths_agree(items: list[Any], pretty: bool) -> None:
    """Which rows are counted would depend on what else is in their chunk."""
    indent = 1 if pretty else None
    bodies = [item if isinstance(item, bytes) else json.dumps(item, indent=indent).encode() for item in items]
    fast, careful = parse(bodies), parse_rows(bodies, FIELDS)
    assert fast.bad == careful.bad
    assert rows(fast) == rows(careful)
