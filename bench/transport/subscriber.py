"""Subscribers for an event loop: bytes are read and stamped, and digested many at a time."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from bench.infra.waiting import wait_until
from bench.latency import LatencyRecorder
from bench.transport.cell import Consumers
from bench.transport.frames import read_heads
from bench.transport.order_ledger import OrderLedger
from bench.wire.api import api_request, api_status
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.pull import PullReader

#: This many bytes are worth parsing at once; below, arrival is stamped and parsing waits its turn.
DIGEST_BYTES = 2 * 1024 * 1024
HEARTBEAT_S = 5.0
#: An ordered consumer that says nothing for so many heartbeats is gone (its server died): make a new one.
MISSED_HEARTBEATS = 3
ROUTE_TIMEOUT_S = 10.0
NOBODY = b"NATS/1.0 503"
INACTIVE_S = 120.0
FETCH = 1000
IN_FLIGHT = 2

#: `NATS/1.0 100 …` has a blank where `NATS/1.0` has its line end; counted from the end of the message's line.
_STATUS_AT = 2 + len("NATS/1.0")
_BLANK = 0x20

Connect = Callable[[str], Connection]


class Subscriber(ABC):
    def __init__(self, connect: Connect, stream: str, subject: str, totals: Sequence[int]) -> None:
        self._connect = connect
        self._stream, self._subject = stream, subject
        self.connection = connect("subscriber")
        self.ledger = OrderLedger(totals)
        self.latency = LatencyRecorder()
        #: Whether it is read as soon as bytes come, so that the time of its reading is that of their arrival.
        self.prompt = False
        self.recreated = 0
        self.first_ns = self.last_ns = 0

    def on_readable(self) -> bool:
        """Whether it was enough to be digested, which takes a while."""
        self.connection.fill(0)
        if self.connection.unread_bytes < DIGEST_BYTES:
            return False
        self.digest()
        return True

    @abstractmethod
    def digest(self) -> None:
        """Take what was read into the ledger."""

    def _account(self, batch: Batch) -> None:
        if not len(batch):
            return
        publishers, seqs, stamps = read_heads(batch)
        self.ledger.take(publishers, seqs)
        if self.prompt:
            self.latency.record((batch.arrived_ns - stamps) // 1000)
        self.first_ns = self.first_ns or int(batch.arrived_ns[0])
        self.last_ns = int(batch.arrived_ns[-1])

    def _create(self, name: str, config: dict[str, Any]) -> None:
        """Make a consumer on the group's subject that neither waits for acks nor delivers twice."""
        kept = {"mem_storage": True, "num_replicas": 1}
        config = {"name": name, "ack_policy": "none", "filter_subject": self._subject, **kept, **config}
        connection = self._connect("api")
        try:
            api_request(
                connection,
                f"$JS.API.CONSUMER.CREATE.{self._stream}.{name}.{self._subject}",
                {"stream_name": self._stream, "config": config},
            )
        finally:
            connection.close()

    def result(self, published: Sequence[int]) -> dict[str, Any]:
        account = self.ledger.account(published)
        return {
            "received": account.received,
            "lost": account.lost,
            "duplicates": account.duplicates,
            "out_of_order": account.out_of_order,
            "unexpected": account.unexpected,
            "recreated": self.recreated,
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
        }


class OrderedSubscriber(Subscriber):
    """An ordered push consumer: ephemeral, no acks, flow control, made anew from the first message missed."""

    def __init__(self, connect: Connect, stream: str, subject: str, totals: Sequence[int]) -> None:
        super().__init__(connect, stream, subject, totals)
        self._sid = 0
        self._last_stream_seq = 0
        self._subscribe()

    def _subscribe(self) -> None:
        self._sid += 1
        self._consumer_seq = 0
        self._inbox = f"_INBOX.{secrets.token_hex(8)}"
        stop = f"UNSUB {self._sid - 1}\r\n" if self._sid > 1 else ""
        self.connection.send(f"{stop}SUB {self._inbox} {self._sid}\r\n".encode())
        self._create(
            f"ordered_{secrets.token_hex(6)}",
            {
                "deliver_subject": self._inbox,
                "max_deliver": 1,
                "flow_control": True,
                "idle_heartbeat": int(HEARTBEAT_S * 1e9),
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": self._last_stream_seq + 1,
            },
        )
        self._heard_at = time.monotonic()

    def digest(self) -> None:
        batch = self.connection.take()
        if len(batch):
            self._heard_at = time.monotonic()
            self._in_sequence(self._deliveries(batch))
        elif time.monotonic() - self._heard_at > HEARTBEAT_S * MISSED_HEARTBEATS:
            self._recreate()

    def _deliveries(self, batch: Batch) -> Batch:
        """Without status messages (flow control is answered) and what an earlier consumer still sent."""
        dropped = []
        if self._sid > 1:
            dropped = [i for i in range(len(batch)) if batch.line(i).split()[2] != b"%d" % self._sid]
        line_ends = batch.index.line_ends
        for i in batch.index.header_sizes:
            # A status stands where plain headers end their first line.
            if batch.buffer[int(line_ends[i]) + _STATUS_AT] == _BLANK:
                dropped.append(i)
                self._on_status(batch, i)
        return batch.without(dropped) if dropped else batch

    def _on_status(self, batch: Batch, i: int) -> None:
        to = batch.reply(i)
        for line in batch.headers(i).split(b"\r\n"):
            if line.startswith(b"Nats-Consumer-Stalled:"):
                to = line.split(b":", 1)[1].strip()
        if to:
            self.connection.send(b"PUB %s 0\r\n\r\n" % to)

    def _in_sequence(self, batch: Batch) -> None:
        """Accept what follows on; at the first gap everything after it is dropped and asked for again."""
        if not len(batch):
            return
        first, last = _sequences(batch, 0), _sequences(batch, len(batch) - 1)
        if first[1] == self._consumer_seq + 1 and last[1] - first[1] == len(batch) - 1:
            self._last_stream_seq, self._consumer_seq = last
            self._account(batch)
            return
        good = 0
        while good < len(batch) and _sequences(batch, good)[1] == self._consumer_seq + 1:
            self._last_stream_seq, self._consumer_seq = _sequences(batch, good)
            good += 1
        self._account(batch.without(list(range(good, len(batch)))))
        self._recreate()

    def _recreate(self) -> None:
        self.recreated += 1
        self._subscribe()


class PullSubscriber(Subscriber):
    """A pull consumer without acks, read with a few large requests in flight.

    Kept in the memory of one server like the ordered one: a replicated consumer would write its progress
    through RAFT, and the cell would measure that.
    """

    def __init__(self, connect: Connect, stream: str, subject: str, totals: Sequence[int]) -> None:
        super().__init__(connect, stream, subject, totals)
        name = f"pull_{secrets.token_hex(6)}"
        self._create(name, {"inactive_threshold": int(INACTIVE_S * 1e9), "deliver_policy": "all"})
        self._await_route(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}")
        self._reader = PullReader(self.connection, stream, name, FETCH, IN_FLIGHT)

    def _await_route(self, subject: str) -> None:
        """Until our server knows who leads the consumer: asked before, it would say that nobody listens."""
        connection = self._connect("api")
        try:
            wait_until(
                lambda: not api_status(connection, subject, {"batch": 1, "no_wait": True}).startswith(NOBODY),
                ROUTE_TIMEOUT_S,
                f"nobody listens on {subject}",
            )
        finally:
            connection.close()

    def digest(self) -> None:
        self._account(self._reader.read(0.0))


KINDS: dict[Consumers, type[Subscriber]] = {"ordered": OrderedSubscriber, "pull": PullSubscriber}


def _sequences(batch: Batch, i: int) -> tuple[int, int]:
    """(stream, consumer) sequence: the reply ends in `.<stream>.<consumer>.<ns>.<pending>`."""
    words = batch.reply(i).split(b".")
    return int(words[-4]), int(words[-3])
