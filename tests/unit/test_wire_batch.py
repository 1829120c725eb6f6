"""Taking columns out of many messages at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import Batch, digits_to_ints, matches
from bench.wire.frames import index_frames

relaxed = settings(deadline=None)  # a busy machine is no finding


def batch_of(*frames: bytes) -> Batch:
    buffer = bytearray(b"".join(frames))
    index = index_frames(buffer, 0, len(buffer))
    return Batch(buffer, index, np.arange(len(index), dtype=np.int64) * 1_000)


HEAD = b"NATS/1.0\r\nNats-Msg-Id:x\r\n\r\n"
MIXED = (
    b"MSG events.3 7 5\r\nhello\r\n",
    b"MSG events.4 7 $JS.ACK.S.c.1.2.3.4.5 5\r\nw\r\nrl\r\n",
    b"PING\r\n",
    b"HMSG in.box 1 %d %d\r\n%sbody\r\n" % (len(HEAD), len(HEAD) + 4, HEAD),
    b"HMSG in.box 1 re.ply %d %d\r\n%s\r\n" % (len(HEAD), len(HEAD), HEAD),
    b"MSG a 1 0\r\n\r\n",
)


def test_parts_of_each_kind_of_message() -> None:
    """If this fails, a payload is read with its headers, or an ack goes to the wrong reply subject."""
    batch = batch_of(*MIXED)
    assert len(batch) == 5
    assert [batch.subject(i) for i in range(5)] == ["events.3", "events.4", "in.box", "in.box", "a"]
    assert [batch.reply(i) for i in range(5)] == [b"", b"$JS.ACK.S.c.1.2.3.4.5", b"", b"re.ply", b""]
    assert [batch.headers(i) for i in range(5)] == [b"", b"", HEAD, HEAD, b""]
    assert [batch.payload(i) for i in range(5)] == [b"hello", b"w\r\nrl", b"body", b"", b""]
    spans = zip(batch.body_starts.tolist(), batch.body_ends.tolist(), strict=True)
    assert [bytes(batch.data[a:b]) for a, b in spans] == [b"hello", b"w\r\nrl", HEAD + b"body", HEAD, b""]


@given(st.sets(st.integers(0, 4)))
@relaxed
def test_without_leaves_the_others_as_they_were(dropped: set[int]) -> None:
    """If this fails, taking a status out of a batch gives other messages its headers or arrival."""
    batch = batch_of(*MIXED)
    thinned = batch.without(sorted(dropped))
    kept = [i for i in range(5) if i not in dropped]
    assert len(thinned) == len(kept)
    assert thinned.arrived_ns.tolist() == [i * 1_000 for i in kept]
    for new, old in enumerate(kept):
        for part in ("line", "subject", "reply", "headers", "payload"):
            assert getattr(thinned, part)(new) == getattr(batch, part)(old)


@given(st.integers(0, 5), st.integers(0, 5))
@relaxed
def test_a_part_is_those_messages_and_no_others(begin: int, end: int) -> None:
    """If this fails, the end of an answer is taken for a message, or a message for the end."""
    batch = batch_of(*MIXED)
    part = batch.part(begin, end)
    others = batch.without([i for i in range(5) if not begin <= i < end])
    assert part.frames() == others.frames()
    assert part.index.header_sizes == others.index.header_sizes
    assert part.arrived_ns.tolist() == others.arrived_ns.tolist()


@relaxed
@given(st.integers(1, 18), st.data())
def test_digits_are_read_with_any_padding(width: int, data: st.DataObject) -> None:
    """If this fails, seqs are misread, and the ledger counts events that were never sent."""
    numbers = data.draw(st.lists(st.integers(0, 10**width - 1), min_size=1, max_size=20))
    pad = data.draw(st.sampled_from(["0", " "]))
    cells = np.frombuffer("".join(str(n).rjust(width, pad) for n in numbers).encode(), np.uint8)
    assert digits_to_ints(cells.reshape(-1, width)).tolist() == numbers


def test_no_rows_are_no_numbers() -> None:
    """If this fails, an empty batch stops a reader."""
    assert digits_to_ints(np.empty((0, 7), np.uint8)).tolist() == []


@relaxed
@given(st.binary(min_size=40, max_size=120), st.integers(0, 30), st.data())
def test_matches_equals_startswith(data: bytes, length: int, draw: st.DataObject) -> None:
    """If this fails, a foreign event passes for one of the run, or one of the run for foreign."""
    place = draw.draw(st.integers(0, len(data) - length))
    literal = data[place : place + length]
    if length and draw.draw(st.booleans()):
        wrong = draw.draw(st.integers(0, length - 1))
        literal = literal[:wrong] + bytes([literal[wrong] ^ 1]) + literal[wrong + 1 :]
    positions = np.arange(len(data) - length + 1, dtype=np.int64)
    found = matches(np.frombuffer(bytearray(data), np.uint8), positions, literal)
    assert found.tolist() == [data.startswith(literal, int(position)) for position in positions]


@pytest.mark.parametrize("literal", [b"seq", b"12345678", b"a longer literal"])
def test_matches_of_no_positions(literal: bytes) -> None:
    """If this fails, an empty batch stops the observer."""
    data = np.zeros(64, np.uint8)
    assert matches(data, np.empty(0, np.int64), literal).tolist() == []
