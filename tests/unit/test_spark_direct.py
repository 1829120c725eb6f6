"""Direct gets: what leaves the reader is the range asked for, whatever the server answers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import Batch
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.frames import index_frames
from spark_jobs.jetstream import fetch
from spark_jobs.jetstream.direct import DirectReader, events_a_request
from spark_jobs.jetstream.options import parse_source
from spark_jobs.jetstream.stream import StreamState

READABLE = StreamState(1, 100, 0, direct=True, in_files=True, mean_bytes=600)


class Server:
    """A stream with holes behind a connection that brings its answers in pieces of any size."""

    def __init__(self, held: set[int], sizes: list[int], most: int = 10**9) -> None:
        self._held, self._most = sorted(held), most
        self._sizes = sizes
        self._coming, self._buffer = b"", b""
        self.asked_for_headers: list[bool] = []
        self.connection = self

    def new_inbox(self) -> str:
        return "_INBOX.x"

    def send(self, data: bytes) -> None:
        for seq, count, bare in re.findall(rb'"seq":(\d+),"batch":(\d+),.*"no_hdr":(true|false)', data):
            self.asked_for_headers.append(bare == b"false")
            self._answer(int(seq), min(int(count), self._most), bare == b"true")

    def _answer(self, first: int, count: int, bare: bool) -> None:
        found = [seq for seq in self._held if seq >= first][:count]
        for seq in found:
            body = b"%d" % seq
            if bare:
                self._coming += b"MSG _INBOX.x 3 %d\r\n%s\r\n" % (len(body), body)
            else:
                head = b"NATS/1.0\r\nNats-Sequence: %d\r\n\r\n" % seq
                sizes = b"%d %d" % (len(head), len(head) + len(body))
                self._coming += b"HMSG _INBOX.x 3 %s\r\n%s%s\r\n" % (sizes, head, body)
        status = b" 404 Message Not Found"
        if found:
            status = b" 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: %d" % found[-1]
        head = b"NATS/1.0" + status + b"\r\n\r\n"
        self._coming += b"HMSG _INBOX.x 3 %d %d\r\n%s\r\n" % (len(head), len(head), head)

    def fill(self, _timeout_s: float) -> int:
        self._sizes = self._sizes[1:] + self._sizes[:1]
        taken, self._coming = self._coming[: self._sizes[0]], self._coming[self._sizes[0] :]
        self._buffer += taken
        return len(taken)

    @property
    def unread_bytes(self) -> int:
        return len(self._buffer)

    def unread_tail(self, size: int) -> bytes:
        return self._buffer[-size:]

    def unread_count(self, mark: bytes) -> int:
        return self._buffer.count(mark)

    def take(self) -> Batch:
        buffer = bytearray(self._buffer)
        index = index_frames(buffer, 0, len(buffer))
        self._buffer = self._buffer[index.consumed :]
        return Batch(buffer, index, np.zeros(len(index), np.int64))


def read(server: Server, first: int, end: int, count: int) -> tuple[list[int], int, bool]:
    """The events that left, where to go on, and whether that is the end."""
    reader = DirectReader(server, "S", 0.0)  # type: ignore[arg-type]
    events, position = [], first
    for position, taken in reader.pieces(first, lambda _: end, count, lambda chunk: chunk.batch.payloads()):  # noqa: B007
        events += [int(text) for payloads in taken for text in payloads]
    return events, position, reader.whole


@settings(deadline=None)
@given(st.data())
def test_only_the_ranges_own_events_leave(data: st.DataObject) -> None:
    """Events from behind a hole would be counted twice: here, and where they belong."""
    last = data.draw(st.integers(1, 60))
    gone = data.draw(st.sets(st.integers(1, last), max_size=3))
    first = data.draw(st.integers(1, last))
    end = data.draw(st.integers(first + 1, last + 1))
    count = data.draw(st.integers(1, 20))
    sizes = data.draw(st.lists(st.integers(1, 200), min_size=1, max_size=5))
    events, position, whole = read(Server(set(range(1, last + 1)) - gone, sizes), first, end, count)
    assert events == list(range(first, position))
    assert whole == (position == end)
    if not gone & set(range(first, end)):
        assert whole


def test_now_and_then_an_answer_has_headers():
    """The server's buffers would stay too small for a line end; or each event would cost it its headers."""
    server = Server(set(range(1, 401)), [10_000])
    assert read(server, 1, 401, 5) == (list(range(1, 401)), 401, True)
    assert [n for n, with_headers in enumerate(server.asked_for_headers) if with_headers] == [1, 21, 41, 61]


def test_no_more_is_asked_for_than_may_be():
    """Reading ahead would hold more than it may, or end for good where it had only to wait."""
    server = Server(set(range(1, 401)), [10_000])
    reader = DirectReader(server, "S", 0.0)  # type: ignore[arg-type]
    bounds = iter([11, 11, 26, 36])

    def may_ask(unasked: int) -> int:
        return max(unasked, next(bounds, 36))

    events = [
        int(text)
        for _, taken in reader.pieces(1, may_ask, 10, lambda chunk: chunk.batch.payloads())
        for payloads in taken
        for text in payloads
    ]
    assert events == list(range(1, 36))
    assert reader.whole


def test_an_answer_cut_short_by_its_size_is_not_whole():
    """Large events would leave holes between two requests."""
    events, position, whole = read(Server(set(range(1, 50)), [10_000], most=7), 1, 40, 10)
    assert (events, position, whole) == ([], 1, False)


def test_a_server_that_says_nothing_is_a_lost_one():
    """A task would wait for ever."""
    server = Server({1, 2, 3}, [0])
    with pytest.raises(ConnectionLost, match="no answer"):
        read(server, 1, 3, 10)


@pytest.mark.parametrize(
    "unfit", [{"direct": False}, {"in_files": False}, {"replicas": 3}, {"has_gaps": True}], ids=str
)
def test_where_direct_gets_are_not_the_way(unfit):
    """The server would refuse, work twice as hard, or answer from a copy that lags behind."""
    assert events_a_request(READABLE, 10_000) == 10_000
    assert events_a_request(replace(READABLE, **unfit), 10_000) == 0


def test_large_events_are_asked_for_in_smaller_numbers():
    """Every answer would be cut short, and read a second time by a consumer."""
    assert events_a_request(replace(READABLE, mean_bytes=1024 * 1024), 10_000) == 16
    assert events_a_request(replace(READABLE, mean_bytes=2**40), 10_000) == 1


@pytest.mark.parametrize("error", [ConnectionLost("gone"), WireError("Permissions Violation for Publish")])
def test_what_direct_gets_cannot_bring_is_read_by_a_consumer(monkeypatch, error):
    """A user who may not ask for direct gets, or a server that went away, would fail the query."""

    def pieces(_self, first, _may_ask, _count, _take):
        yield first + 2, ["two by direct gets"]
        raise error

    monkeypatch.setattr(DirectReader, "pieces", pieces)
    monkeypatch.setattr(fetch, "link_to", lambda _options: Server(set(), [1]))
    monkeypatch.setattr(fetch, "fetch_range", lambda _options, first, end: [(first, end)])
    options = parse_source({"servers": "nats://127.0.0.1:4222", "stream": "S"})
    read = list(fetch.read_range(options, 5, 9, 2, lambda chunk: chunk))
    assert read == ["two by direct gets", (7, 9)]
