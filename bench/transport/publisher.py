"""Publishers for an event loop: one in flight, a sliding window, or atomic batches; every answer is checked.

None waits: `pump` sends what may be sent now, `on_readable` takes the answers that have come.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import numpy as np

from bench.fates import Fates
from bench.publish_frames import seq_range
from bench.schedule import Ints, Schedule, Unpaced
from bench.transport.cell import Mode
from bench.transport.frames import Address, BatchFrames, PlainFrames, SingleFrame
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.errors import WireError
from bench.wire.pubacks import AnswerReader


class Publisher(ABC):
    def __init__(
        self,
        connection: Connection,
        address: Address,
        stream: str,
        total: int,
        window: int,
        schedule: Schedule,
    ) -> None:
        self.connection = connection
        self.total = total
        self._window = window
        self._address = address
        self._stream = stream
        self._schedule = schedule
        self._unsent = memoryview(b"")
        self.sent = 0
        self.acked = 0
        self.refused: Counter[str] = Counter()
        self.first_send_ns = self.last_ack_ns = 0
        connection.send(f"SUB {address.inbox}.* 1\r\n".encode())

    @property
    def settled(self) -> int:
        return self.acked + self.refused.total()

    @property
    def done(self) -> bool:
        return self.settled >= self.total

    @property
    def blocked(self) -> bool:
        """Whether the kernel has yet to take bytes that must go before all others."""
        return len(self._unsent) > 0

    def pump(self, now_ns: int) -> None:
        if self._unsent:
            self._unsent = self._unsent[self.connection.try_send(self._unsent) :]
        if not self._unsent:
            count = min(self._may_send(), min(self._schedule.due(now_ns), self.total) - self.sent)
            count = self._whole(count)
            if count > 0:
                self._send(count, now_ns)

    def on_readable(self, now_ns: int) -> None:
        if self.connection.fill(0):
            batch = self.connection.take()
            if len(batch):
                self._answered(batch)
                self.last_ack_ns = now_ns

    def next_due_ns(self) -> int | None:
        """When there is something to send without an answer having come; None when all waits for answers."""
        if self.sent >= self.total or self._may_send() <= 0:
            return None
        return self._schedule.next_due_ns(self.sent + self._needed() - 1)

    def result(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "sent": self.sent,
            "acked": self.acked,
            "refused": dict(self.refused),
            "first_send_ns": self.first_send_ns,
            "last_ack_ns": self.last_ack_ns,
        }

    def _send(self, count: int, now_ns: int) -> None:
        self.first_send_ns = self.first_send_ns or now_ns
        seqs = seq_range(self.sent + 1, self.sent + count)
        stamps = self._stamps(seqs, now_ns)
        self.sent += count
        self._hand_over(self._frames_of(seqs, stamps))

    def _hand_over(self, frames: bytes) -> None:
        taken = self.connection.try_send(frames)
        if taken < len(frames):
            self._unsent = memoryview(frames)[taken:]

    def _stamps(self, seqs: Ints, now_ns: int) -> Ints:
        """The intended time in open loop: what goes out late counts as late."""
        if isinstance(self._schedule, Unpaced):
            return np.full(len(seqs), now_ns, np.int64)
        return self._schedule.intended_ns(seqs)

    def _refuse(self, why: str, count: int = 1) -> None:
        self.refused[why] += count

    def _needed(self) -> int:
        """The smallest number worth sending."""
        return 1

    def _whole(self, count: int) -> int:
        return count

    @abstractmethod
    def _may_send(self) -> int: ...

    @abstractmethod
    def _frames_of(self, seqs: Ints, stamps: Ints) -> bytes: ...

    @abstractmethod
    def _answered(self, batch: Batch) -> None: ...


class SyncPublisher(Publisher):
    """One message, its answer, the next one. Each is stored behind the last, so no answer counts twice."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._frame = SingleFrame(self._address)
        self._stored_at = 0

    def _may_send(self) -> int:
        return 1 if self.sent == self.settled else 0

    def _send(self, count: int, now_ns: int) -> None:
        self.first_send_ns = self.first_send_ns or now_ns
        self.sent += count
        stamp = now_ns if isinstance(self._schedule, Unpaced) else self._schedule.next_due_ns(self.sent - 1)
        self._hand_over(self._frame.build(self.sent, stamp))

    def _frames_of(self, seqs: Ints, stamps: Ints) -> bytes:
        return self._frame.build(int(seqs[0]), int(stamps[0]))

    def _answered(self, batch: Batch) -> None:
        for i in range(len(batch)):
            answer = _json(batch.payload(i))
            stored_at = answer.get("seq")
            if answer.get("stream") != self._stream or "error" in answer or type(stored_at) is not int:
                self._refuse(refusal(batch, i))
            elif stored_at <= self._stored_at:
                raise WireError("JetStream answered a message twice that was sent once")
            else:
                self._stored_at = stored_at
                self.acked += 1


class AsyncPublisher(Publisher):
    """Up to `window` messages under way; answers are read in bulk."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._frames = PlainFrames(self._address, self._window)
        self._fates = Fates(self.total)
        self._answers = AnswerReader(self._address.inbox, self._fates.tickets.width, self._stream)

    def _may_send(self) -> int:
        room = self._window - (self.sent - self.settled)
        # To fill every gap would mean tiny bursts: a quarter of the window is worth a write.
        return room if room >= max(1, self._window // 4) or not isinstance(self._schedule, Unpaced) else 0

    def _frames_of(self, seqs: Ints, stamps: Ints) -> bytes:
        return self._frames.build(seqs, stamps)

    def _answered(self, batch: Batch) -> None:
        answers = self._answers.read(batch)
        self._fates.hear(answers)
        if self._fates.repeated_answers:
            raise WireError("JetStream answered a message twice that was sent once")
        self.acked = self._fates.acks
        for nack in answers.nacked:
            self._refuse(f"{nack.text} ({nack.code})")


class BatchPublisher(Publisher):
    """Atomic batches of `window` messages, one after the other: all of a batch is stored, or nothing."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._frames = BatchFrames(self._address, self._window)

    def _needed(self) -> int:
        return min(self._window, self.total - self.sent)

    def _may_send(self) -> int:
        return self._needed() if self.sent == self.settled else 0

    def _whole(self, count: int) -> int:
        return count if count == self._needed() else 0

    def _frames_of(self, seqs: Ints, stamps: Ints) -> bytes:
        return self._frames.build(seqs, stamps)

    def _answered(self, batch: Batch) -> None:
        for i in range(len(batch)):
            under_way = self.sent - self.settled
            answer = _json(batch.payload(i))
            if answer.get("count") == under_way and isinstance(answer.get("seq"), int):
                self.acked += under_way
            else:
                self._refuse(refusal(batch, i), under_way)


KINDS: dict[Mode, type[Publisher]] = {"sync": SyncPublisher, "async": AsyncPublisher, "batch": BatchPublisher}


def refusal(batch: Batch, i: int) -> str:
    """What JetStream said instead of an acknowledgement."""
    if batch.headers(i).startswith(b"NATS/1.0 503"):
        return "no stream listens on this subject (503)"
    error = _json(batch.payload(i)).get("error")
    if isinstance(error, dict):
        return f"{error.get('description')} ({error.get('err_code', error.get('code'))})"
    return f"not an acknowledgement: {batch.payload(i)[:80]!r}"


def _json(payload: bytes) -> dict[str, Any]:
    try:
        content = json.loads(payload)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
