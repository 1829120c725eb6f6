"""Events, results, heartbeats and partitions: what engines in other languages rely on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bench.contract
from bench.contract.event import (
    Event,
    KeyTotals,
    decode_event,
    encode_event,
    expected_totals,
    key_of,
    make_event,
    value_of,
)
from bench.contract.heartbeat import Heartbeat, decode_heartbeat, encode_heartbeat
from bench.contract.partition import partition_of
from bench.contract.result import (
    FIELDS,
    Result,
    decode_result,
    encode_result,
    mock_result,
    result_from_fields,
)
from bench.contract.table import COLUMNS, CREATE_TABLE, ON_DUPLICATE, row_of

relaxed = settings(deadline=None)  # a busy machine is no finding

run_ids = st.from_regex(r"[A-Za-z0-9_-]{1,48}", fullmatch=True)
bigints = st.integers(-(2**63), 2**63 - 1)
results = st.builds(Result, run_ids, st.text(), bigints, bigints, bigints, bigints, bigints)
heartbeats = st.builds(Heartbeat, st.text(), bigints, bigints, bigints)

#: What JSON allows and a careless decoder does not expect.
HOSTILE_JSON = [
    b"",
    b"null",
    b"1",
    b'"text"',
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"\x00",
    b"NaN",
    b"1" * 5_000,
    b"[" * 100_000,
    b'{"a":' * 100_000,
]


# -- partition -----------------------------------------------------------------


@pytest.mark.parametrize(
    # The first digit of what `md5sum` prints.
    ("key", "wanted"),
    [("", 13), ("k0", 2), ("k1", 11), ("k2", 6), ("k10", 14), ("k999", 2), ("__flush__", 10), ("ключ", 12)],
)
def test_partition_is_the_first_digit_of_md5(key: str, wanted: int) -> None:
    """If this fails, Python and the engines disagree on where a key's events lie."""
    assert partition_of(key) == wanted
    for partitions in range(1, 17):
        assert partition_of(key, partitions) == wanted % partitions


@pytest.mark.parametrize("partitions", [0, -1, 17, 256])
def test_more_partitions_than_hex_digits_are_refused(partitions: int) -> None:
    """If this fails, partitions beyond 16 exist that never get an event."""
    with pytest.raises(ValueError, match="partitions"):
        partition_of("k1", partitions)


def test_all_partitions_are_used() -> None:
    """If this fails, some consumers of a run get nothing."""
    assert {partition_of(f"k{i}") for i in range(1_000)} == set(range(16))


def test_partition_is_the_same_in_another_process() -> None:
    """If this fails, the hash is salted, and every process has its own partitions."""
    keys = [f"k{i}" for i in range(50)]
    code = f"from bench.contract.partition import partition_of; print([partition_of(k) for k in {keys}])"
    root = Path(bench.contract.__file__).parents[2]
    other = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(other.stdout) == [partition_of(key) for key in keys]


# -- event ---------------------------------------------------------------------


@relaxed
@given(run_ids, st.integers(1, 10**15), st.integers(0, 10**13), st.integers(1, 10**6), st.integers(0, 300))
def test_an_event_comes_back_from_exactly_its_bytes(
    run_id: str, seq: int, ts_ms: int, num_keys: int, pad: int
) -> None:
    """If this fails, events have another size than the case says, or are not what was sent."""
    event = make_event(run_id, seq, ts_ms, num_keys)
    bare = len(json.dumps(json.loads(encode_event(event, 1_000)) | {"payload": ""}, separators=(",", ":")))
    data = encode_event(event, bare + pad)
    assert len(data) == bare + pad
    assert decode_event(data) == event
    assert json.loads(data)["payload"] == "x" * pad
    assert ",".join(json.loads(data)) == "run_id,event_id,seq,producer_ts_ms,key,value,payload"
    with pytest.raises(ValueError, match=f"needs {bare}"):
        encode_event(event, bare - 1)


@relaxed
@given(st.text(), st.text(), bigints, bigints, bigints)
def test_any_text_survives_an_event(run_id: str, key: str, seq: int, ts_ms: int, value: int) -> None:
    """If this fails, a key with quotes, breaks or other alphabets arrives as another key."""
    event = Event(run_id, seq, ts_ms, key, value)
    assert decode_event(encode_event(event, 4_096)) == event


def test_seq_starts_at_one() -> None:
    """If this fails, seq 0 exists, which the answers to heartbeats use."""
    with pytest.raises(ValueError, match="starts at 1"):
        make_event("run", 0, 0, 10)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", "1"),
        ("seq", 1.0),
        ("seq", True),
        ("seq", None),
        ("seq", 2**63),
        ("value", -(2**63) - 1),
        ("run_id", 5),
        ("key", None),
        ("event_id", "run-2"),
        ("event_id", None),
    ],
)
def test_an_event_with_a_wrong_field_is_refused(field: str, value: object) -> None:
    """If this fails, a foreign or broken message is taken for an event, or stops the observer."""
    fields = json.loads(encode_event(make_event("run", 1, 7, 10), 512))
    with pytest.raises(ValueError, match=field):
        decode_event(json.dumps(fields | {field: value}).encode())
    del fields[field]
    with pytest.raises(ValueError, match=field):
        decode_event(json.dumps(fields).encode())


@relaxed
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_value_error(data: bytes) -> None:
    """If this fails, one foreign message kills the driver that should only count it."""
    for decode in (decode_event, decode_result, decode_heartbeat):
        with pytest.raises(ValueError):  # noqa: PT011 - its kind is what matters
            decode(data)


@pytest.mark.parametrize("data", HOSTILE_JSON, ids=lambda data: repr(data[:12]))
def test_hostile_json_is_a_value_error(data: bytes) -> None:
    """If this fails, JSON that is nested or long without end kills the driver."""
    for decode in (decode_event, decode_result, decode_heartbeat):
        with pytest.raises(ValueError):  # noqa: PT011 - its kind is what matters
            decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@relaxed
@given(st.data())
def test_any_json_in_a_field_is_right_or_a_value_error(data: st.DataObject) -> None:
    """If this fails, a field of an unforeseen type gets past the decoders or stops them."""
    good = {
        decode_event: encode_event(make_event("run", 1, 7, 10), 512),
        decode_result: encode_result(mock_result("run", 1, 7, 10)),
        decode_heartbeat: encode_heartbeat(Heartbeat("run", 1, 2, 3)),
    }
    for decode, encoded in good.items():
        fields = json.loads(encoded)
        name = data.draw(st.sampled_from(sorted(fields)))
        fields[name] = data.draw(json_values)
        try:
            decoded = decode(json.dumps(fields).encode())
        except ValueError:
            continue
        known = vars(decoded)
        assert name not in known or (known[name] == fields[name] and type(known[name]) in (str, int))


# -- closed form -----------------------------------------------------------------


@relaxed
@given(st.integers(1, 60), st.integers(0, 120), st.integers(1, 25))
def test_expected_totals_equal_brute_force(first: int, last: int, num_keys: int) -> None:
    """If this fails, the ledger calls right results wrong, or wrong ones right."""
    for index in range(num_keys):
        mine = [seq for seq in range(first, last + 1) if key_of(seq, num_keys) == f"k{index}"]
        wanted = KeyTotals(len(mine), sum(map(value_of, mine)))
        assert expected_totals(first, last, index, num_keys) == wanted


def test_a_swapped_event_changes_the_sum() -> None:
    """If this fails, an engine that loses one event and doubles another comes out right."""
    lost_and_doubled = sum(value_of(seq) for seq in (1, 1, 3))
    assert lost_and_doubled != sum(value_of(seq) for seq in (1, 2, 3))
    assert value_of(5) != 5


# -- result and heartbeat ----------------------------------------------------------


@relaxed
@given(results)
def test_a_result_comes_back(result: Result) -> None:
    """If this fails, results change on their way to the table."""
    assert decode_result(encode_result(result)) == result
    carried = json.loads(encode_result(result)) | {"variant": "spark", "more": [1]}
    assert result_from_fields(carried) == result


@pytest.mark.parametrize("name", FIELDS)
def test_a_result_with_a_wrong_field_is_refused(name: str) -> None:
    """If this fails, a broken result becomes a row, or stops the writer's whole batch."""
    fields = json.loads(encode_result(mock_result("run", 5, 7, 10)))
    wrong = [None, True, 1.5, [], {}, 2**63, -(2**63) - 1, 5 if name in ("run_id", "key") else "5"]
    for value in wrong:
        with pytest.raises(ValueError, match="result"):
            result_from_fields(fields | {name: value})
    del fields[name]
    with pytest.raises(ValueError, match=name):
        result_from_fields(fields)


@relaxed
@given(heartbeats)
@example(Heartbeat("run", 0, 0, 0))
def test_a_heartbeat_comes_back(heartbeat: Heartbeat) -> None:
    """If this fails, lag is computed from a progress the producer never reported."""
    assert decode_heartbeat(encode_heartbeat(heartbeat)) == heartbeat


@pytest.mark.parametrize("name", ["run_id", "prod_max_seq", "prod_rate", "producer_ts_ms_now"])
def test_a_heartbeat_with_a_wrong_field_is_refused(name: str) -> None:
    """If this fails, lag is computed from something that is not a number."""
    fields = json.loads(encode_heartbeat(Heartbeat("run", 1, 2, 3)))
    for value in (None, True, 1.5, [], 2**63):
        with pytest.raises(ValueError, match="heartbeat"):
            decode_heartbeat(json.dumps(fields | {name: value}).encode())
    del fields[name]
    with pytest.raises(ValueError, match=name):
        decode_heartbeat(json.dumps(fields).encode())


# -- table -------------------------------------------------------------------------


def test_a_row_is_in_the_order_of_the_columns() -> None:
    """If this fails, every sink writes values into each other's columns."""
    result = Result("the run", "the key", 1, 2, 3, 4, 5)
    named = dict(zip(COLUMNS.replace("`", "").strip("()").split(", "), row_of("spark", result), strict=True))
    assert named == {"variant": "spark"} | {name: getattr(result, name) for name in FIELDS}


def test_every_column_is_in_the_table_and_every_value_is_updated() -> None:
    """If this fails, an insert names a column that is not there, or a replay leaves an old value."""
    columns = COLUMNS.strip("()").split(", ")
    defined = [line.split()[0] for line in CREATE_TABLE.splitlines() if line.startswith("    ")]
    assert defined[: len(columns)] == columns
    key_columns = ["variant", "run_id", "`key`", "window_end_ms"]
    assert f"PRIMARY KEY ({', '.join(key_columns)})" in CREATE_TABLE
    for column in columns:
        assert (f"{column}=VALUES({column})" in ON_DUPLICATE) == (column not in key_columns)
    assert "db_insert_ts" not in ON_DUPLICATE


def test_a_mock_result_is_one_event() -> None:
    """If this fails, case B's ledger expects other sums than its producer sends."""
    result = mock_result("run", 12, 99, 10)
    assert result == Result("run", "k2", 99, 1, value_of(12), 12, 99)
    assert replace(result, key=key_of(12, 10)) == result
