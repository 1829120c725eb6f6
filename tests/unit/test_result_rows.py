"""Result messages become rows alike, however they are spelled."""

from __future__ import annotations

import json

import numpy as np
import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.contract.result import Result, decode_result, encode_result
from bench.result_rows import ResultRows
from bench.upsert import row_text
from bench.wire.batch import Batch
from bench.wire.frames import index_frames

relaxed = settings(deadline=None)  # a busy machine is no finding

RUN = "run-1"
bigints = st.integers(-(2**63), 2**63 - 1)
results = st.builds(
    Result, st.just(RUN), st.one_of(st.from_regex(r"k[0-9]{1,5}", fullmatch=True), st.text()), *[bigints] * 5
)


def reply(stream_seq: int) -> bytes:
    return b"$JS.ACK.RESULTS.dur_B.1.%d.7.1700000000000000000.0" % stream_seq


def framed(payload: bytes, stream_seq: int = 1, headers: bytes = b"") -> bytes:
    if headers:
        sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
        return b"HMSG _INBOX.x 1 %b %b\r\n%b%b\r\n" % (reply(stream_seq), sizes, headers, payload)
    return b"MSG _INBOX.x 1 %b %d\r\n%b\r\n" % (reply(stream_seq), len(payload), payload)


def batch_of(frames: bytes) -> Batch:
    buffer = bytearray(frames)
    index = index_frames(buffer, 0, len(buffer))
    return Batch(buffer, index, np.zeros(len(index), np.int64))


HEADERS = b"NATS/1.0\r\nNats-Msg-Id: run-1-5\r\n\r\n"


@relaxed
@given(
    st.lists(
        st.tuples(results, st.booleans(), st.sampled_from(["ours", "orjson", "loose", "more"])), max_size=20
    )
)
def test_every_spelling_gives_the_same_row(rows):
    """If this fails, the fast way writes another row than the contract's parser would."""
    spell = {
        "ours": encode_result,
        "orjson": lambda one: orjson.dumps(one),
        "loose": lambda one: json.dumps(one.__dict__, indent=1).encode(),
        "more": lambda one: json.dumps({"variant": "x", **one.__dict__}).encode(),
    }
    frames = b"".join(
        framed(spell[how](one), number, HEADERS if headers else b"")
        for number, (one, headers, how) in enumerate(rows, 1)
        if _fits(one)
    )
    reader = ResultRows("mock", RUN)
    read = reader.read(batch_of(frames))
    wanted = [
        (reply(number), number, row_text("mock", one), one.window_end_ms, one.seq)
        for number, (one, _, _) in enumerate(rows, 1)
        if _fits(one)
    ]
    assert read == wanted
    assert reader.malformed == reader.foreign == 0


def _fits(one: Result) -> bool:
    """Lone surrogates cannot be sent at all."""
    try:
        one.key.encode()
    except UnicodeEncodeError:
        return False
    return True


@relaxed
@given(st.binary(max_size=200))
@example(
    b'{"run_id":"run-1","key":"k1","window_end_ms":01,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1}'
)
@example(
    b'{"run_id":"run-1","key":"k1","window_end_ms":1,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1} x'
)
@example(
    b'{"run_id":"run-1","key":"k1\'","window_end_ms":1,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1}'
)
@example(
    b'{"run_id":"run_1","key":"k1","window_end_ms":1,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1}'
)
@example(
    b'{"run_id":"run-1","key":"k1","window_end_ms":1.0,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1}'
)
@example(
    b'{"run_id":"run-1","key":"k1","window_end_ms":-0,"count":1,"sum_value":1,"seq":1,"producer_ts_ms":1}'
)
def test_what_the_contract_refuses_never_becomes_a_row(payload):
    """If this fails, the pattern takes for a result what the contract's parser does not."""
    reader = ResultRows("mock", RUN)
    [(_, stream_seq, text, _, _)] = reader.read(batch_of(framed(payload, 9)))
    assert stream_seq == 9
    try:
        ours = decode_result(payload).run_id == RUN
    except ValueError:
        ours = False
        assert reader.malformed == 1
    assert bool(text) == ours
    assert reader.malformed + reader.foreign == (0 if ours else 1)


def test_a_message_inside_a_message_is_not_read():
    """If this fails, a payload that looks like a frame becomes a row of its own."""
    inner = framed(encode_result(Result(RUN, "k1", 1, 1, 1, 1, 1)), 2)
    reader = ResultRows("mock", RUN)
    assert [row[1:3] for row in reader.read(batch_of(framed(inner, 1)))] == [(1, b"")]
    assert reader.malformed == 1
