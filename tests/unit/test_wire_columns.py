"""Columns taken out of many messages at once: numbers as words of eight digits, replies, payloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import Batch, numbers_before
from bench.wire.frames import index_frames

relaxed = settings(deadline=None)  # a busy machine is no finding


@relaxed
@given(st.integers(1, 18), st.data())
def test_numbers_are_read_with_any_padding_and_neighbours(width: int, data: st.DataObject) -> None:
    """If this fails, seqs and stored times are misread: the ledger counts events that were never sent."""
    numbers = data.draw(st.lists(st.integers(0, 10**width - 1), min_size=1, max_size=20))
    pad = data.draw(st.sampled_from(["0", " "]))
    text, ends = "", []
    for number in numbers:
        # What stands before must not leak in, whatever it is.
        text += data.draw(st.text("09:.x", min_size=8, max_size=20)) + str(number).rjust(width, pad)
        ends.append(len(text))
    found = numbers_before(np.frombuffer(text.encode(), np.uint8), np.array(ends, np.int64), width)
    assert found.dtype == np.int64
    assert found.tolist() == numbers


@pytest.mark.parametrize("number", [10**18, 2**63 - 1])
def test_nineteen_digits_fit(number: int) -> None:
    """If this fails, no stored time after 2001 can be read."""
    data = np.frombuffer(b"........%d" % number, np.uint8)
    assert numbers_before(data, np.array([len(data)]), 19).tolist() == [number]


def test_no_rows_are_no_numbers() -> None:
    """If this fails, an empty batch stops a reader."""
    data = np.frombuffer(b"MSG events.1 1 5", np.uint8)
    assert numbers_before(data, np.empty(0, np.int64), 7).tolist() == []


HEAD = b"NATS/1.0\r\nNats-Msg-Id:x\r\n\r\n"
PLAIN = (
    b"MSG events.3 7 5\r\nhello\r\n",
    b"PING\r\n",
    b"MSG events.4 7 $JS.ACK.S.c.1.2.3.4.5 6\r\nw\r\nrld\r\n",
    b"MSG a 1 re.ply 0\r\n\r\n",
)
HEADED = (*PLAIN, b"HMSG in.box 1 re.ply %d %d\r\n%sbody\r\n" % (len(HEAD), len(HEAD) + 4, HEAD))


@pytest.mark.parametrize("frames", [(), PLAIN, HEADED], ids=["none", "plain", "with headers"])
def test_all_at_once_equals_one_by_one(frames: tuple[bytes, ...]) -> None:
    """If this fails, the writer acknowledges other messages than those it has stored."""
    buffer = bytearray(b"PING\r\n" + b"".join(frames))
    index = index_frames(buffer, 0, len(buffer))
    batch = Batch(buffer, index, np.zeros(len(index), np.int64))
    assert batch.replies() == [batch.reply(i) for i in range(len(batch))]
    assert batch.payloads() == [batch.payload(i) for i in range(len(batch))]
    assert len(batch) == sum(b"MSG" in frame for frame in frames)
