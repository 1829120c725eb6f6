"""What a message costs on its way through the wire's pure parts. No time is asserted: read the table."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.fates import Fates
from bench.publish_frames import EventFrames, FrameShape, MockResultFrames, seq_range
from bench.tickets import Tickets
from bench.wire.batch import Batch
from bench.wire.frames import index_frames
from bench.wire.pubacks import AnswerReader, Answers
from bench.wire.pull import stored_ns

pytestmark = pytest.mark.bench

TOTAL = 1_000_000
FIRST = 500_001
SIZES = [100, 1_000]
INBOX = "_INBOX.0123abcd"
NOW_NS = 1_800_000_000_000_000_000


def shape(message_ids: bool = False, partitions: int = 16) -> FrameShape:
    subjects = tuple(f"events.{p}" for p in range(partitions))
    return FrameShape("run-1", TOTAL, 20_000, subjects, INBOX, message_ids)


def seqs_and_times(count: int) -> tuple[np.ndarray, np.ndarray]:
    seqs = seq_range(FIRST, FIRST + count - 1)
    return seqs, NOW_NS + seqs * 20_000


def delivered(count: int, payload_bytes: int = 512) -> bytearray:
    """A server's delivery of `count` events to a pull consumer."""
    frames = EventFrames(shape(), payload_bytes)
    seqs, times = seqs_and_times(count)
    rows = bytes(frames.build(seqs, times, seqs))
    stream = bytearray()
    for i in range(count):
        body = rows[i * frames.width : (i + 1) * frames.width - 2].split(b"\r\n", 1)[1]
        reply = b"$JS.ACK.EVENTS.dur_A_events.1.%d.%d.%d.%d" % (FIRST + i, FIRST + i, NOW_NS + i, TOTAL - i)
        stream += b"MSG events.%d 1 %s %d\r\n%s\r\n" % (i % 16, reply, len(body), body)
    return stream


def acknowledged(count: int) -> bytearray:
    """A server's acknowledgements of `count` events."""
    tickets = Tickets(TOTAL)
    stream = bytearray()
    for i, ticket in enumerate(tickets.shared(seq_range(FIRST, FIRST + count - 1)).tolist()):
        body = b'{"stream":"EVENTS","seq":%d}' % (FIRST + i)
        stream += b"MSG %s.%0*d 1 %d\r\n%s\r\n" % (INBOX.encode(), tickets.width, ticket, len(body), body)
    return stream


def as_batch(stream: bytearray) -> Batch:
    index = index_frames(stream, 0, len(stream))
    return Batch(stream, index, np.zeros(len(index), np.int64))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["event", "event with message id", "event of 10 KB", "mock result"])
def test_build(benchmark: BenchmarkFixture, kind: str, size: int) -> None:
    """If this grows, the producer cannot keep its schedule at high rates."""
    frames = {
        "event": lambda: EventFrames(shape(), 512),
        "event with message id": lambda: EventFrames(shape(message_ids=True), 512),
        "event of 10 KB": lambda: EventFrames(shape(), 10_240),
        "mock result": lambda: MockResultFrames(shape()),
    }[kind]()
    seqs, times = seqs_and_times(size)
    benchmark.extra_info["messages_per_round"] = size
    assert len(benchmark(frames.build, seqs, times, Tickets(TOTAL).shared(seqs))) == size * frames.width


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["events", "answers"])
def test_index(benchmark: BenchmarkFixture, kind: str, size: int) -> None:
    """If this grows, reading a batch costs the observer (or the producer its answers) more than moving it."""
    stream = delivered(size) if kind == "events" else acknowledged(size)
    benchmark.extra_info["messages_per_round"] = size
    assert len(benchmark(index_frames, stream, 0, len(stream))) == size


@pytest.mark.parametrize("size", SIZES)
def test_read_answers(benchmark: BenchmarkFixture, size: int) -> None:
    """If this grows, checking every acknowledgement is no longer affordable."""
    reader = AnswerReader(INBOX, Tickets(TOTAL).width, "EVENTS")
    batch = as_batch(acknowledged(size))
    benchmark.extra_info["messages_per_round"] = size
    assert len(benchmark(reader.read, batch).acked) == size


@pytest.mark.parametrize("size", SIZES)
def test_hear_answers(benchmark: BenchmarkFixture, size: int) -> None:
    """If this grows, to know the fate of every message is no longer affordable."""
    answers = AnswerReader(INBOX, Tickets(TOTAL).width, "EVENTS").read(as_batch(acknowledged(size)))
    benchmark.extra_info["messages_per_round"] = size
    fates = [Fates(TOTAL)]

    def anew() -> tuple[tuple[Fates, Answers], dict[str, object]]:
        fates[0] = Fates(TOTAL)  # an answer is heard for the first time once
        return (fates[0], answers), {}

    benchmark.pedantic(Fates.hear, setup=anew, rounds=300)
    assert fates[0].acks == size


@pytest.mark.parametrize("size", SIZES)
def test_stored_times(benchmark: BenchmarkFixture, size: int) -> None:
    """If this grows, telling the hops apart costs more than it is worth."""
    batch = as_batch(delivered(size))
    benchmark.extra_info["messages_per_round"] = size
    assert len(benchmark(stored_ns, batch)) == size
