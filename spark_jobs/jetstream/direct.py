"""Read a range of sequences by batched direct gets: no consumer, so a tenth less work for the server.

An answer is payloads, bare or with headers, then an end that names the last sequence. As many payloads as
asked for and the last sequence where it must be mean: no gap. Only then does anything leave here, since an
event that is gone makes the server go on with later ones, which are not the range's. At the first answer that
is not whole we end; who called us reads the rest in another way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

import numpy as np

from bench.wire.batch import Batch
from bench.wire.errors import ConnectionLost
from spark_jobs.jetstream.chunk import CHUNK_BYTES, REQUEST_BYTES, Chunk
from spark_jobs.jetstream.link import Link
from spark_jobs.jetstream.stream import StreamState

_IN_FLIGHT = 2
#: One request in so many is answered with headers, for the server's sake (2.15): the buffers in its pool are
#: as large as a payload, so each line end means a new one, a sixth of what an event costs it. A buffer that
#: once held headers has room. Not a reader's first request: a short range has no other.
_WITH_HEADERS_EVERY, _FIRST_WITH_HEADERS = 20, 1
_SID = 3
_SILENCE_S = 5.0
_END = b" 204 EOB"
_LAST_SEQ = b"Nats-Last-Sequence:"
#: The status message that ends an answer is shorter than this.
_END_BYTES = 256
_T = TypeVar("_T")


def events_a_request(state: StreamState, most: int) -> int:
    """How many events a request may ask for; 0 where direct gets are not the way.

    In memory storage they cost the server twice what a consumer does (docs/performance.md), and with
    replicas a server may answer that has not got the last events yet.
    """
    if not (state.direct and state.in_files and state.replicas == 1) or state.has_gaps:
        return 0
    return min(most, max(1, REQUEST_BYTES // max(1, state.mean_bytes)))


class DirectReader:
    """`pieces` is to be read to its end: otherwise answers are still on their way, and the link is spoilt."""

    def __init__(self, link: Link, stream: str, linger_s: float) -> None:
        self._connection = link.connection
        self._subject = f"$JS.API.DIRECT.GET.{stream}"
        self._inbox = link.new_inbox()
        self._linger_s = linger_s
        #: Where each request that is not answered yet ends.
        self._asked: deque[int] = deque()
        self._requests = 0
        self.whole = True

    def pieces(
        self, first: int, may_ask: Callable[[int], int], count: int, take: Callable[[Chunk], _T]
    ) -> Generator[tuple[int, list[_T]]]:
        """(the next sequence, what `take` made of the events before it) for each request that was answered
        in full; `whole` is False when the next was not.

        `may_ask` says up to where the sequences from its argument on may be asked for by now.
        """
        self._connection.send(b"SUB %s %d\r\n" % (self._inbox.encode(), _SID))
        unasked, position, held = first, first, []
        while True:
            while len(self._asked) < _IN_FLIGHT and (end := min(unasked + count, may_ask(unasked))) > unasked:
                unasked = self._ask(unasked, end)
            if not self._asked:
                break
            for part, is_end in _parts(self._receive()):
                if not is_end:
                    seqs = np.arange(position, position + len(part), dtype=np.int64)
                    held.append(take(Chunk(part, seqs)))
                    position += len(part)
                elif self._asked and position == self._asked[0] == _next_sequence(part.headers(0)):
                    self._asked.popleft()
                    yield position, held
                    held = []
                else:
                    self.whole = False
                    return
        self._connection.send(b"UNSUB %d\r\n" % _SID)

    def _ask(self, first: int, end: int) -> int:
        no_headers = b"true" if self._requests % _WITH_HEADERS_EVERY != _FIRST_WITH_HEADERS else b"false"
        self._requests += 1
        body = b'{"seq":%d,"batch":%d,"max_bytes":%d,"no_hdr":%s}' % (
            *(first, end - first, REQUEST_BYTES),
            no_headers,
        )
        head = f"PUB {self._subject} {self._inbox} {len(body)}\r\n".encode()
        self._connection.send(head + body + b"\r\n")
        self._asked.append(end)
        return end

    def _receive(self) -> Batch:
        connection = self._connection
        if not connection.fill(_SILENCE_S):
            raise ConnectionLost(f"no answer to {self._subject} for {_SILENCE_S:g} s")
        while connection.unread_bytes < CHUNK_BYTES and not self._all_here():
            if not connection.fill(self._linger_s):
                break
        return connection.take()

    def _all_here(self) -> bool:
        """Whether all that was asked for has come, so that to linger would be to wait for nothing."""
        connection = self._connection
        return (
            _END in connection.unread_tail(_END_BYTES) and connection.unread_count(_END) >= len(self._asked)
        )


def _parts(batch: Batch) -> Iterator[tuple[Batch, bool]]:
    """The payloads before, between and after the ends of answers; each end by itself."""
    begin = 0
    for at in _ends(batch):
        if at > begin:
            yield batch.part(begin, at), False
        yield batch.part(at, at + 1), True
        begin = at + 1
    if len(batch) > begin:
        yield batch.part(begin, len(batch)), False


def _ends(batch: Batch) -> list[int]:
    """Where answers end, each in a status without a body. An event may have headers, or no body, too."""
    sizes = batch.index.header_sizes
    places = np.fromiter(sizes, np.int64, len(sizes))
    bodies = (batch.body_ends - batch.body_starts)[places]
    without_body = places[bodies == np.fromiter(sizes.values(), np.int64, len(sizes))]
    return [at for at in np.sort(without_body).tolist() if batch.is_status(at)]


def _next_sequence(headers: bytes) -> int | None:
    """The one behind an answer's last; None if this is not its end (404: nothing there, 503: nobody)."""
    lines = headers.split(b"\r\n")
    if not lines[0].endswith(_END):
        return None
    values = [line.split(b":", 1)[1].strip() for line in lines if line.startswith(_LAST_SEQ)]
    return int(values[0]) + 1 if values and values[0].isdigit() else None
