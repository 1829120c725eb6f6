"""What a publisher writes, a subscriber reads: publisher, number and time, in every publish mode."""

from __future__ import annotations

import numpy as np
import pytest

from bench.transport.frames import Address, BatchFrames, PlainFrames, SingleFrame, read_heads
from bench.wire.batch import Batch
from bench.wire.frames import index_frames

SEQS = np.array([7, 8, 9], np.int64)
STAMPS = np.array([10**15 + 1, 10**15 + 2, 10**15 + 3], np.int64)


def delivered(frames: bytes) -> Batch:
    """The frames as a server hands them on: with a subscription's number where the reply stood."""
    out = b""
    rest = frames
    while rest:
        line, rest = rest.split(b"\r\n", 1)
        words = line.split()
        size = int(words[-1])
        if words[0] == b"PUB":
            out += b"MSG %s 1 $JS.ACK %d\r\n" % (words[1], size)
        else:
            out += b"HMSG %s 1 $JS.ACK %s %d\r\n" % (words[1], words[-2], size)
        out += rest[: size + 2]
        rest = rest[size + 2 :]
    buffer = bytearray(out)
    index = index_frames(buffer, 0, len(buffer))
    assert index.consumed == len(buffer)
    return Batch(buffer, index, np.zeros(len(index), np.int64))


@pytest.mark.parametrize("size", [31, 512, 10240])
@pytest.mark.parametrize("kind", [PlainFrames, BatchFrames])
def test_heads_come_back_as_they_were_sent(kind, size):
    """The ledger would account for other messages than were sent."""
    address = Address("transport.0.bench", "_INBOX.ab", 1, 1000, size)
    batch = delivered(kind(address, 8).build(SEQS, STAMPS))
    publishers, seqs, stamps = read_heads(batch)
    assert publishers.tolist() == [1, 1, 1]
    assert seqs.tolist() == SEQS.tolist()
    assert stamps.tolist() == STAMPS.tolist()
    assert {len(batch.payload(i)) for i in range(3)} == {size}


def test_a_single_frame_is_one_of_many():
    """Sync and async cells would send different messages and could not be compared."""
    address = Address("transport.0.bench", "_INBOX.ab", 0, 1000, 512)
    many = PlainFrames(address, 1).build(SEQS[:1], STAMPS[:1])
    alone = SingleFrame(address).build(7, int(STAMPS[0]))
    (words, body), (other_words, other_body) = (
        (line.split(), body) for line, body in (frame.split(b"\r\n", 1) for frame in (alone, many))
    )
    assert body == other_body
    assert [word for word, other in zip(words, other_words, strict=True) if word != other] == [b"_INBOX.ab.0"]


def test_only_the_last_of_a_batch_asks_for_an_answer():
    """JetStream would answer a batch's first message, and its commit would go unchecked."""
    frames = BatchFrames(Address("s", "_INBOX.ab", 0, 1000, 64), 8).build(SEQS, STAMPS)
    assert frames.count(b"_INBOX.ab.") == 1
    assert frames.count(b"Nats-Batch-Commit:1") == 1
    assert [b"Nats-Batch-Sequence:%d" % n in frames for n in (1, 2, 3)] == [True] * 3


def test_a_size_that_cannot_hold_the_head_is_refused():
    """The size on the wire would differ from the size asked for."""
    with pytest.raises(ValueError, match="a message of 30 bytes: at least 31 are needed"):
        Address("s", "i", 0, 1, 30)
