"""Read a JetStream pull consumer in bulk: a few large requests in flight, batches out, acks batched."""

from __future__ import annotations

import secrets
import time
from typing import Literal

import numpy as np

from bench.wire.batch import Batch, numbers_before
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost, Unserved, WireError
from bench.wire.frames import Ints

AckPolicy = Literal["none", "all", "explicit"]

_EXPIRES_S = 5.0
#: A request whose end we never heard of (the server forgot it) is given up after this long.
_REQUEST_LOST_S = _EXPIRES_S + 2.0

#: 404 no messages, 408 request timeout, 409 limits: the request is over, the consumer is fine.
_REQUEST_OVER = (404, 408, 409)
_UNSERVED = 503
#: To ask again would bring the same answer, at once and for ever.
_HOPELESS = ("consumer deleted", "consumer is push based", "exceeded maxrequest")

#: In `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<ns>.<pending>` the
#: time has 19 digits until the year 2286; the number of those pending, at most this many.
_STAMP_DIGITS = 19
_PENDING_DIGITS = 12
_DOT = 0x2E


class PullReader:
    """Keeps `in_flight` requests of `batch` messages open on one pull consumer."""

    def __init__(
        self, connection: Connection, stream: str, consumer: str, batch: int = 1000, in_flight: int = 2
    ) -> None:
        self.connection = connection
        self._api = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = f"_INBOX.{secrets.token_hex(6)}"
        self._batch = batch
        self._in_flight = in_flight
        self._outstanding = 0
        self._last_heard = time.monotonic()
        connection.send(f"SUB {self._inbox} 1\r\n".encode())
        self._request()

    def _request(self) -> None:
        room = self._in_flight * self._batch - self._outstanding
        count = room // self._batch
        if count <= 0:
            return
        body = b'{"batch":%d,"expires":%d}' % (self._batch, int(_EXPIRES_S * 1e9))
        frame = f"PUB {self._api} {self._inbox} {len(body)}\r\n".encode() + body + b"\r\n"
        self.connection.send(frame * count)
        self._outstanding += count * self._batch

    def read(self, timeout_s: float, linger_s: float = 0.0, linger_bytes: int = 256 * 1024) -> Batch:
        """The next messages; an empty batch when none came in time.

        With `linger_s`, goes on reading for that long or up to `linger_bytes` after the first byte:
        arrivals are stamped as they come, and parsing is paid for once.
        """
        connection = self.connection
        lost: ConnectionLost | None = None
        if connection.fill(timeout_s) and linger_s > 0:
            deadline = time.monotonic() + linger_s
            try:
                while connection.unread_bytes < linger_bytes:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        break
                    connection.fill(left)
            except ConnectionLost as error:
                lost = error
        batch = connection.take()
        if batch.index.header_sizes:
            batch = self._without_status(batch)
        if len(batch):
            self._outstanding -= len(batch)
            self._last_heard = time.monotonic()
        elif self._outstanding and time.monotonic() - self._last_heard > _REQUEST_LOST_S:
            self._outstanding = 0
            self._last_heard = time.monotonic()
        if lost is None:
            self._request()
        elif not len(batch):
            raise lost
        return batch  # also what came before the connection broke: the next read will tell of that

    def _without_status(self, batch: Batch) -> Batch:
        status = [i for i in batch.index.header_sizes if _status_of(batch.headers(i)) is not None]
        for i in status:
            self._on_status(batch.headers(i))
        return batch.without(status) if status else batch

    def _on_status(self, headers: bytes) -> None:
        code, text = _status_of(headers) or (0, "")
        if code == 100:
            return
        if code not in _REQUEST_OVER or text.lower().startswith(_HOPELESS):
            kind = Unserved if code == _UNSERVED else WireError
            raise kind(f"pull from {self._api.split('.', 5)[-1]} failed: {code} {text}")
        self._last_heard = time.monotonic()
        left = _header_value(headers, b"Nats-Pending-Messages")
        self._outstanding = max(0, self._outstanding - int(left)) if left.isdigit() else 0

    def ack(self, reply: bytes) -> None:
        """Acknowledge one message (or, with ack policy `all`, it and everything before)."""
        self.connection.send(b"PUB %s 4\r\n+ACK\r\n" % reply)

    def ack_each(self, replies: list[bytes]) -> None:
        self.connection.send(b"".join([b"PUB %s 4\r\n+ACK\r\n" % reply for reply in replies]))


def _status_of(headers: bytes) -> tuple[int, str] | None:
    """The status in the first header line ("NATS/1.0 408 Request Timeout"), if there is one."""
    first = headers.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(first) < 2 or len(first[1]) != 3 or not first[1].isdigit():
        return None
    return int(first[1]), first[2].decode(errors="replace") if len(first) > 2 else ""


def _header_value(headers: bytes, name: bytes) -> bytes:
    for line in headers.split(b"\r\n"):
        if line.startswith(name + b":"):
            return line.split(b":", 1)[1].strip()
    return b""


def stored_ns(batch: Batch) -> Ints:
    """When JetStream stored each message (epoch ns), read out of the reply subjects in bulk."""
    if not len(batch):
        return np.empty(0, np.int64)
    data, line_ends = batch.data, batch.index.line_ends
    # From the line's end backwards: size, blank, pending, dot, time, dot.
    reach = _PENDING_DIGITS + 12
    shortest = int((line_ends - batch.index.starts).min())
    if batch.index.header_sizes or shortest < reach + _STAMP_DIGITS:
        return np.array([_stamp_of(batch.reply(i)) for i in range(len(batch))], np.int64)
    stamp_ends = np.empty(len(line_ends), np.int64)
    # How far the time is from the line's end depends on the width of the numbers after it, which a batch has
    # one of, or a few.
    left: Ints = np.arange(len(line_ends))
    while len(left):
        end = int(line_ends[left[0]])
        back = end - batch.buffer.rfind(b".", end - reach, end)
        places = line_ends[left] - back
        good = (data[places] == _DOT) & (data[places - (_STAMP_DIGITS + 1)] == _DOT)
        if back > reach or not good[0]:
            raise WireError(f"not a JetStream delivery: {batch.line(int(left[0]))[:120]!r}")
        stamp_ends[left] = places
        left = left[~good]
    return numbers_before(data, stamp_ends, _STAMP_DIGITS)


def _stamp_of(reply: bytes) -> int:
    tokens = reply.split(b".")
    if len(tokens) != 9 or len(tokens[7]) != _STAMP_DIGITS or not tokens[7].isdigit():
        raise WireError(f"not a JetStream delivery: {reply[:120]!r}")
    return int(tokens[7])


def delivery_of(reply: bytes) -> tuple[int, int]:
    """(how often delivered, stream sequence) of the message with this reply subject."""
    try:
        _js, _ack, _stream, _consumer, delivered, stream_seq, _seq, _stamp, _pending = reply.split(b".")
        return int(delivered), int(stream_seq)
    except ValueError:
        raise WireError(f"not a JetStream delivery: {reply[:120]!r}") from None
