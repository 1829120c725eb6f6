"""JetStream's answers to publishes, checked in bulk.

A publish carries the reply subject <inbox>.<ticket>, a number of fixed width: an answer says what it is for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from bench.wire.batch import Batch, digits_to_ints
from bench.wire.errors import WireError
from bench.wire.frames import Bytes, Flags, Ints

#: A plain acknowledgement up to its sequence; 2.15 writes the first, older servers had a blank there.
_PLAIN_ACKS = (b'{"stream":"%s","seq":', b'{"stream":"%s", "seq":')
#: A longer sequence would not fit into 64 bits.
_MOST_DIGITS = 18
#: Tickets, and the stream's sequence for each.
Acked = tuple[Ints, Ints]


@dataclass
class Nack:
    """A publish that JetStream refused."""

    ticket: int
    code: int
    text: str


@dataclass
class Answers:
    """What one batch of answers says, by ticket."""

    acked: Ints
    #: The stream's sequence of each that is acknowledged.
    stored_at: Ints
    #: What JetStream had already (found by Nats-Msg-Id): stored once, acknowledged again.
    deduplicated: list[int] = field(default_factory=list)
    nacked: list[Nack] = field(default_factory=list)


class AnswerReader:
    """Reads answers on `inbox`, whose subjects end in a number of `width` digits."""

    def __init__(self, inbox: str, width: int, stream: str) -> None:
        self._prefix = f"{inbox}.".encode()
        self._ticket_at = len("MSG ") + len(self._prefix)
        self._width = width
        self._acks = [ack % stream.encode() for ack in _PLAIN_ACKS]

    def read(self, batch: Batch) -> Answers:
        index = batch.index
        lengths = index.ends - index.starts
        # Between two of the same length a control line may stand.
        changes = (lengths[1:] != lengths[:-1]) | (index.starts[1:] != index.ends[:-1])
        borders = np.flatnonzero(changes) + 1
        answers = Answers(np.empty(0, np.int64), np.empty(0, np.int64))
        # Answers of one length lie in the buffer like the rows of a matrix.
        read = [
            self._read_rows(batch, first, last, answers)
            for first, last in zip([0, *borders.tolist()], [*borders.tolist(), len(batch)], strict=True)
            if last > first
        ]
        if read:
            answers.acked, answers.stored_at = map(np.concatenate, zip(*read, strict=True))
        return answers

    def _read_rows(self, batch: Batch, first: int, last: int, answers: Answers) -> Acked:
        index = batch.index
        start, length = int(index.starts[first]), int(index.ends[first] - index.starts[first])
        body_at = int(index.line_ends[first]) + 2 - start
        rows = batch.data[start : start + length * (last - first)].reshape(last - first, length)
        ack_end = body_at + self._plain_ack_bytes(batch.buffer, start + body_at)
        ticket_end = self._ticket_at + self._width
        fits = ticket_end < body_at < ack_end < length - 3 <= ack_end + _MOST_DIGITS
        if not fits or rows[0, ticket_end] != 0x20:
            return self._read_singly(batch, range(first, last), answers)
        tickets, places = rows[:, self._ticket_at : ticket_end], rows[:, ack_end : length - 3]
        # What stands between the ticket and the stream's seq (size, line end, stream) is the same in all.
        checks = (
            rows[:, ticket_end:ack_end] == rows[0, ticket_end:ack_end],
            _are_digits(places),
            rows[:, length - 3 : length - 2] == 0x7D,
            _are_digits(tickets),
        )
        acked, stored_at = digits_to_ints(tickets), digits_to_ints(places)
        if all(check.all() for check in checks):
            return acked, stored_at
        plain = np.logical_and.reduce([check.all(axis=1) for check in checks])
        odd = self._read_singly(batch, [first + int(i) for i in np.flatnonzero(~plain)], answers)
        return np.concatenate([acked[plain], odd[0]]), np.concatenate([stored_at[plain], odd[1]])

    def _plain_ack_bytes(self, buffer: bytearray, body_at: int) -> int:
        """The length of this server's spelling of an acknowledgement, 0 if the body is none."""
        for ack in self._acks:
            if buffer.startswith(ack, body_at):
                return len(ack)
        return 0

    def _read_singly(self, batch: Batch, which: range | list[int], answers: Answers) -> Acked:
        acked: list[tuple[int, int]] = []
        for i in which:
            ticket = self._ticket_of(batch.line(i))
            told = self._read_one(batch, i, ticket, answers)
            if isinstance(told, Nack):
                answers.nacked.append(told)
            else:
                acked.append((ticket, told))
        tickets, stored_at = np.array(acked, np.int64).reshape(-1, 2).T
        return tickets, stored_at

    def _ticket_of(self, line: bytes) -> int:
        subject = line.split(b" ", 2)[1]
        number = subject.removeprefix(self._prefix)
        if len(subject) - len(number) != len(self._prefix) or len(number) != self._width:
            number = b""
        if not number.isdigit():
            raise WireError(f"an answer to none of our publishes: {line[:120]!r}")
        return int(number)

    def _read_one(self, batch: Batch, i: int, ticket: int, answers: Answers) -> Nack | int:
        """What was refused, or where in the stream it is."""
        headers = batch.headers(i)
        if headers.startswith(b"NATS/1.0 503"):
            return Nack(ticket, 503, "no stream listens on this subject")
        try:
            body = json.loads(batch.payload(i))
            if "error" in body:
                error = body["error"]
                code = int(error.get("err_code", error.get("code", 0)))
                return Nack(ticket, code, str(error.get("description")))
            if type(body.get("seq")) is not int or not 0 <= body["seq"] < 10**_MOST_DIGITS:
                return Nack(ticket, 0, f"not an acknowledgement: {str(body)[:80]}")
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return Nack(ticket, 0, f"not an acknowledgement: {batch.payload(i)[:80]!r}")
        if body.get("duplicate"):
            answers.deduplicated.append(ticket)
        return int(body["seq"])


def _are_digits(cells: Bytes) -> Flags:
    # Below "0" the difference wraps round to a large number.
    flags: Flags = np.less(cells - np.uint8(0x30), 10)
    return flags
