"""Read exactly one range of stream sequences, in bulk: an ephemeral pull consumer by start sequence, no acks.

Where direct gets are cheaper they come first (direct.py). A consumer's deliveries carry sequence and stored
time in the reply subject, and cost the server no state worth naming. A range can be read again at
any time, by any worker, with the same result.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

import numpy as np

from bench.wire.batch import Batch
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.frames import Ints
from bench.wire.pull import delivery_of
from spark_jobs.jetstream.chunk import CHUNK_BYTES, REQUEST_BYTES, Chunk
from spark_jobs.jetstream.direct import DirectReader
from spark_jobs.jetstream.errors import DataLossError, JetStreamError
from spark_jobs.jetstream.link import Link, drop_link, link_to
from spark_jobs.jetstream.options import SourceOptions

_EXPIRES_S = 5.0
_SILENCE_S = _EXPIRES_S + 5.0
_IN_FLIGHT = 2
#: No delivery is shorter: its first line alone has two inboxes and the sizes.
_LEAST_FRAME_BYTES = 64
_RETRY_PAUSE_S = 0.25
_SID = 2
_T = TypeVar("_T")


def read_range(
    options: SourceOptions, first: int, end: int, direct: int, take: Callable[[Chunk], _T]
) -> Generator[_T]:
    """What `take` makes of the events with first <= sequence < end, chunk by chunk.

    With `direct` (events a request) by direct gets, as long as those bring what they must.
    """
    position = first
    if direct and first < end:
        try:
            reader = DirectReader(link_to(options), options.stream, options.linger_ms / 1000)
            for position, taken in reader.pieces(first, lambda _: end, direct, take):  # noqa: B007 - where to go on
                yield from taken
            if not reader.whole:
                drop_link(options)
        except WireError:  # also from a server that lets this user have consumers, but no direct gets
            drop_link(options)
        except BaseException:  # as below
            drop_link(options)
            raise
    yield from map(take, fetch_range(options, position, end))


def fetch_range(options: SourceOptions, first: int, end: int) -> Generator[Chunk]:
    """The events with first <= sequence < end. After a lost connection it goes on where it stopped."""
    position, rows = first, 0
    deadline: float | None = None
    while position < end:
        try:
            for chunk in _read_once(link_to(options), options, position, end):
                deadline = None
                rows += len(chunk.seqs)
                position = int(chunk.seqs[-1]) + 1
                yield chunk
            position = end
        except ConnectionLost as error:
            drop_link(options)
            deadline = deadline or time.monotonic() + options.retry_timeout_ms / 1000
            if time.monotonic() >= deadline:
                left = f"[{position}, {end}) of {options.stream}"
                bound = f"{options.retry_timeout_ms} ms"
                raise JetStreamError(f"reading {left} gave up after {bound}: {error}") from None
            time.sleep(_RETRY_PAUSE_S)
        except (
            BaseException
        ):  # also when Spark stops reading early: what is in flight must not meet the next range
            drop_link(options)
            raise
    missing = end - first - rows
    if missing and not options.subjects and options.fail_on_data_loss:
        raise DataLossError(loss_message(options.stream, first, end, missing))


def loss_message(stream: str, first: int, end: int, missing: int) -> str:
    return (
        f"data loss: stream {stream} no longer holds {missing} of the sequences [{first}, {end}): purged, "
        "expired or deleted before Spark read them; set failOnDataLoss=false to go on without them"
    )


def _read_once(link: Link, options: SourceOptions, first: int, end: int) -> Iterator[Chunk]:
    pull = _Pull(link, options, first, end)
    if pull.pending:
        yield from pull.chunks()
    pull.close()


class _Pull:
    def __init__(self, link: Link, options: SourceOptions, first: int, end: int) -> None:
        self._link = link
        self._connection = link.connection
        self._stream = options.stream
        self._next, self._end = first, end
        self._fetch_batch = options.fetch_batch
        self._linger_s = options.linger_ms / 1000
        self._name = f"spark-{secrets.token_hex(6)}"
        self._inbox = link.new_inbox()
        self._delivery = f"MSG {self._inbox} ".encode()
        self._outstanding = 0
        self.pending = self._create(options)

    def _create(self, options: SourceOptions) -> int:
        config = {
            "name": self._name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._next,
            "ack_policy": "none",
            "replay_policy": "instant",
            "inactive_threshold": 30_000_000_000,
            "mem_storage": True,
            "num_replicas": 1,
        }
        if options.subjects:
            config["filter_subjects"] = list(options.subjects)
        body = {"stream_name": self._stream, "config": config, "action": "create"}
        answer = self._link.request(f"CONSUMER.CREATE.{self._stream}.{self._name}", body)
        self._connection.send(b"SUB %s %d\r\n" % (self._inbox.encode(), _SID))
        return int(answer["num_pending"])

    def _ask(self) -> None:
        """Keep requests in flight, but never for more than the range can hold."""
        while self._outstanding <= (_IN_FLIGHT - 1) * self._fetch_batch:
            count = min(self._fetch_batch, self._end - self._next - self._outstanding)
            if count <= 0:
                return
            body = b'{"batch":%d,"max_bytes":%d,"expires":%d}' % (
                count,
                REQUEST_BYTES,
                int(_EXPIRES_S * 1e9),
            )
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
            head = f"PUB {subject} {self._inbox} {len(body)}\r\n".encode()
            self._connection.send(head + body + b"\r\n")
            self._outstanding += count

    def chunks(self) -> Iterator[Chunk]:
        heard = time.monotonic()
        while self._next < self._end:
            self._ask()
            batch = self._receive()
            if len(batch):
                heard = time.monotonic()
            elif time.monotonic() - heard > _SILENCE_S:
                raise ConnectionLost(f"no event of {self._stream} came for {_SILENCE_S:g} s")
            batch = self._without_status(batch)
            if not len(batch):
                continue
            self._outstanding -= len(batch)
            seqs = _sequences(batch)
            # The server says with each message how many more match. None left: the rest of the range is not
            # there.
            over = batch.reply(len(batch) - 1).endswith(b".0")
            self._next = self._end if over else int(seqs[-1]) + 1
            seqs = seqs[: int(np.searchsorted(seqs, self._end))]
            if len(seqs):
                yield Chunk(batch, seqs)

    def _receive(self) -> Batch:
        connection = self._connection
        if connection.fill(1.0):
            while connection.unread_bytes < CHUNK_BYTES and not self._all_here():
                if not connection.fill(self._linger_s):
                    break
        return connection.take()

    def _all_here(self) -> bool:
        """Whether every event asked for has arrived, so that to linger would be to wait for nothing."""
        connection = self._connection
        if connection.unread_bytes < self._outstanding * _LEAST_FRAME_BYTES:
            return False  # the usual case, at no cost
        return connection.unread_count(self._delivery) >= self._outstanding

    def _without_status(self, batch: Batch) -> Batch:
        if not batch.index.header_sizes:
            return batch
        status = [
            i for i in batch.index.header_sizes if not batch.reply(i)
        ]  # every delivery has a reply subject
        for i in status:
            self._on_status(batch.headers(i))
        return batch.without(status) if status else batch

    def _on_status(self, headers: bytes) -> None:
        lines = headers.decode(errors="replace").split("\r\n")
        code = lines[0].split(" ")[1] if " " in lines[0] else ""
        if code == "100":
            return
        # 408 timeout and 409 (max_bytes reached, say) end a request; we ask again for what it left undone.
        if code not in ("404", "408", "409") or "deleted" in lines[0].lower():
            raise ConnectionLost(f"the pull from {self._stream} ended: {lines[0]}")
        left = [line.split(":", 1)[1].strip() for line in lines if line.startswith("Nats-Pending-Messages:")]
        self._outstanding = max(0, self._outstanding - int(left[0])) if left else 0

    def close(self) -> None:
        """Leave nothing on the way: after the answer to the deletion, no delivery of this consumer can
        come.
        """
        self._connection.send(b"UNSUB %d\r\n" % _SID)
        with contextlib.suppress(JetStreamError):
            self._link.request(f"CONSUMER.DELETE.{self._stream}.{self._name}", {})


def _sequences(batch: Batch) -> Ints:
    first, last = delivery_of(batch.reply(0))[1], delivery_of(batch.reply(len(batch) - 1))[1]
    if last - first == len(batch) - 1:
        return np.arange(first, last + 1, dtype=np.int64)
    # Deleted or filtered messages lie between: read each one's own.
    return np.array([delivery_of(batch.reply(i))[1] for i in range(len(batch))], np.int64)
