"""Frames made a thousand at a time: each must be what the contract says of its seq."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.contract.event import decode_event, encode_event, make_event
from bench.contract.partition import partition_of
from bench.contract.result import decode_result, mock_result
from bench.publish_frames import EventFrames, FrameShape, MockResultFrames, PublishFrames, seq_range
from bench.tickets import GROUP

relaxed = settings(deadline=None, max_examples=40)  # a busy machine is no finding

INBOX = "_INBOX.abc"
EPOCH_NS = st.integers(10**12 * 10**6, 9 * 10**12 * 10**6)


class Sent(NamedTuple):
    subject: str
    reply: str
    message_id: str | None
    body: bytes


def parse(row: bytes) -> Sent:
    """One publish as a server reads it: blanks separate words, sizes are exact."""
    line, rest = row.split(b"\r\n", 1)
    verb, subject, reply, *sizes = re.split(rb" +", line)
    assert verb == (b"HPUB" if len(sizes) == 2 else b"PUB")
    total = int(sizes[-1])
    assert rest[total:] == b"\r\n"
    if verb == b"PUB":
        return Sent(subject.decode(), reply.decode(), None, rest[:total])
    header = rest[: int(sizes[0])]
    found = re.fullmatch(rb"NATS/1\.0\r\nNats-Msg-Id:([^\r\n]+)\r\n\r\n", header)
    assert found
    return Sent(subject.decode(), reply.decode(), found[1].decode(), rest[len(header) : total])


def rows_of(frames: PublishFrames, seqs: list[int], epoch_ns: list[int]) -> list[Sent]:
    tickets = frames._shape.tickets.shared(np.array(seqs, np.int64))
    data = bytes(frames.build(np.array(seqs, np.int64), np.array(epoch_ns, np.int64), tickets))
    assert len(data) == len(seqs) * frames.width
    return [parse(data[i : i + frames.width]) for i in range(0, len(data), frames.width)]


@st.composite
def shapes(draw: st.DrawFn, prefix: str) -> FrameShape:
    total = draw(st.one_of(st.integers(1, 10**12), st.sampled_from([1, 9, 10, 99, 100, 33, 333, 3_333])))
    partitions = draw(st.integers(1, 16))
    return FrameShape(
        draw(st.from_regex(r"[A-Za-z0-9_-]{1,48}", fullmatch=True)),
        total,
        draw(st.one_of(st.integers(1, 120), st.sampled_from([1, 10, 100, 1_000]))),
        tuple(f"{prefix}.{p}" for p in range(partitions)),
        INBOX,
        draw(st.booleans()),
        capacity=40,
    )


def bursts(shape: FrameShape) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Seqs in any order, those around digit borders and the last ones among them."""
    borders = [n for power in range(13) for n in (10**power - 1, 10**power) if 1 <= n <= shape.total]
    seq = st.one_of(st.integers(1, shape.total), st.sampled_from([*borders, shape.total]))
    return st.lists(st.tuples(seq, EPOCH_NS), min_size=1, max_size=40)


def check_head(shape: FrameShape, sent: Sent, seq: int, key: str) -> None:
    padded = f"{seq:0{shape.seq_width}d}"
    ticket = f"{(seq - 1) // GROUP + 1:0{shape.tickets.width}d}"
    assert sent.subject == shape.subjects[partition_of(key, len(shape.subjects))]
    assert sent.reply == f"{INBOX}.{ticket}"
    assert sent.message_id == (f"{shape.run_id}-{padded}" if shape.message_ids else None)


@relaxed
@given(st.data(), shapes("events"), st.integers(0, 600))
def test_every_event_is_the_closed_form_of_its_seq(data: st.DataObject, shape: FrameShape, pad: int) -> None:
    """If this fails, the producer sends other events than the ledger expects of it."""
    payload_bytes = 300 + pad
    frames = EventFrames(shape, payload_bytes, seed=pad)
    for _ in range(2):  # the second burst is written over the first
        burst = data.draw(bursts(shape))
        sent = rows_of(frames, [seq for seq, _ in burst], [at for _, at in burst])
        for (seq, at_ns), one in zip(burst, sent, strict=True):
            event = make_event(shape.run_id, seq, at_ns // 1_000_000, shape.num_keys)
            assert decode_event(one.body) == event
            assert frames.seq_of(one.body) == seq
            assert len(one.body) == payload_bytes
            check_head(shape, one, seq, event.key)


@relaxed
@given(st.data(), shapes("results.mock"))
def test_every_mock_result_is_the_closed_form_of_its_seq(data: st.DataObject, shape: FrameShape) -> None:
    """If this fails, case B writes other rows than its ledger expects."""
    frames = MockResultFrames(shape)
    for _ in range(2):
        burst = data.draw(bursts(shape))
        sent = rows_of(frames, [seq for seq, _ in burst], [at for _, at in burst])
        for (seq, at_ns), one in zip(burst, sent, strict=True):
            result = mock_result(shape.run_id, seq, at_ns // 1_000_000, shape.num_keys)
            assert decode_result(one.body) == result
            assert frames.seq_of(one.body) == seq
            check_head(shape, one, seq, result.key)


@relaxed
@given(shapes("events"), st.data())
def test_the_layout_finds_the_seq(shape: FrameShape, data: st.DataObject) -> None:
    """If this fails, the observer reads seqs from the wrong place and finds nothing but losses."""
    frames = EventFrames(shape, 400)
    seq = data.draw(st.integers(1, shape.total))
    [sent] = rows_of(frames, [seq], [1_759_000_000_000_000_000])
    layout = frames.layout
    assert sent.body.startswith(layout.start)
    assert sent.body[layout.label_at : layout.seq_at] == b',"seq":'
    assert int(sent.body[layout.seq_at : layout.seq_at + layout.seq_width]) == seq
    assert len(sent.body) == layout.payload_bytes


def shape_of(**changes: object) -> FrameShape:
    settings_now = {
        "run_id": "run",
        "total": 1_000,
        "num_keys": 10,
        "subjects": ("events.0",),
        "inbox": INBOX,
    }
    return FrameShape(**(settings_now | changes))


def test_a_payload_too_small_names_the_option_and_the_need() -> None:
    """If this fails, a user learns from a traceback that an event does not fit."""
    with pytest.raises(ValueError, match=r"--payload-bytes 40 is too small.* at least (\d+)") as told:
        EventFrames(shape_of(), 40)
    needed = int(str(told.value).rsplit(" ", 1)[1])
    EventFrames(shape_of(), needed)
    with pytest.raises(ValueError, match="--payload-bytes"):
        EventFrames(shape_of(), needed - 1)
    assert len(encode_event(make_event("run", 1_000, 1_759_000_000_000, 10), needed)) == needed


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "a b"},
        {"run_id": 'a"b'},
        {"run_id": ""},
        {"run_id": "a\r\nPUB x 0"},
        {"num_keys": 0},
        {"subjects": ()},
    ],
)
def test_a_shape_that_cannot_work_is_refused(changes: dict[str, object]) -> None:
    """If this fails, a hostile run id writes lines of its own to the server, or a run has no keys."""
    with pytest.raises(ValueError, match=r"run id|at least one key"):
        EventFrames(shape_of(**changes), 512)
    with pytest.raises(ValueError, match=r"run id|at least one key"):
        MockResultFrames(shape_of(**changes))


def test_the_pad_is_the_same_for_the_same_seed() -> None:
    """If this fails, two runs of one seed send different bytes, and compression makes them differ."""
    first, again, other = (bytes(EventFrames(shape_of(), 512, seed).build(*one())) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first) == len(other)


def one() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return seq_range(1, 1), np.array([1_759_000_000_000_000_000]), seq_range(1, 1)


def test_no_more_rows_than_there_is_room_for() -> None:
    """If this fails, a burst beyond the capacity is cut in silence."""
    frames = EventFrames(shape_of(capacity=10), 512)
    with pytest.raises(ValueError, match="broadcast"):
        frames.build(seq_range(1, 11), np.full(11, 1_759_000_000_000_000_000), seq_range(1, 11))
    assert frames.capacity == 10


def test_seq_range_includes_both_ends() -> None:
    """If this fails, the first or last event of each burst is never sent."""
    assert seq_range(3, 5).tolist() == [3, 4, 5]
    assert seq_range(3, 2).tolist() == []
