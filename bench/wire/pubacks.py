"""JetStream's answers to publishes, checked in bulk.

A publish carries the reply subject <inbox>.<seq>, so every answer says which event it is for;
none is taken on trust or by counting alone.
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


@dataclass
class Nack:
    """A publish that JetStream refused."""

    seq: int
    code: int
    text: str


@dataclass
class Answers:
    """What one batch of answers says, by event."""

    acked: Ints
    #: Events that JetStream had already (found by Nats-Msg-Id): stored once, acknowledged again.
    deduplicated: list[int] = field(default_factory=list)
    nacked: list[Nack] = field(default_factory=list)


class AnswerReader:
    """Reads answers on `inbox`, whose subjects end in a number of `seq_width` digits."""

    def __init__(self, inbox: str, seq_width: int, stream: str) -> None:
        self._prefix = f"{inbox}.".encode()
        self._seq_at = len("MSG ") + len(self._prefix)
        self._seq_width = seq_width
        self._acks = [ack % stream.encode() for ack in _PLAIN_ACKS]

    def read(self, batch: Batch) -> Answers:
        index = batch.index
        lengths = index.ends - index.starts
        # Between two of the same length a control line may stand.
        changes = (lengths[1:] != lengths[:-1]) | (index.starts[1:] != index.ends[:-1])
        borders = np.flatnonzero(changes) + 1
        acked: list[Ints] = []
        answers = Answers(np.empty(0, np.int64))
        # Answers of one length lie in the buffer like the rows of a matrix.
        for first, last in zip([0, *borders.tolist()], [*borders.tolist(), len(batch)], strict=True):
            if last > first:
                acked.append(self._read_rows(batch, first, last, answers))
        answers.acked = np.concatenate(acked) if acked else answers.acked
        return answers

    def _read_rows(self, batch: Batch, first: int, last: int, answers: Answers) -> Ints:
        index = batch.index
        start, length = int(index.starts[first]), int(index.ends[first] - index.starts[first])
        body_at = int(index.line_ends[first]) + 2 - start
        rows = batch.data[start : start + length * (last - first)].reshape(last - first, length)
        ack_end = body_at + self._plain_ack_bytes(batch.buffer, start + body_at)
        seq_end = self._seq_at + self._seq_width
        if not seq_end < body_at < ack_end < length - 3 or rows[0, seq_end] != 0x20:
            return self._read_singly(batch, range(first, last), answers)
        cells = rows[:, self._seq_at : seq_end]
        # What stands between the seq and the stream's seq (size, line end, stream) is the same in all.
        checks = (
            rows[:, seq_end:ack_end] == rows[0, seq_end:ack_end],
            _are_digits(rows[:, ack_end : length - 3]),
            rows[:, length - 3 : length - 2] == 0x7D,
            _are_digits(cells),
        )
        seqs = digits_to_ints(cells)
        if all(check.all() for check in checks):
            return seqs
        plain = np.logical_and.reduce([check.all(axis=1) for check in checks])
        odd = [first + int(i) for i in np.flatnonzero(~plain)]
        return np.concatenate([seqs[plain], self._read_singly(batch, odd, answers)])

    def _plain_ack_bytes(self, buffer: bytearray, body_at: int) -> int:
        """The length of this server's spelling of an acknowledgement, 0 if the body is none."""
        for ack in self._acks:
            if buffer.startswith(ack, body_at):
                return len(ack)
        return 0

    def _read_singly(self, batch: Batch, which: range | list[int], answers: Answers) -> Ints:
        acked: list[int] = []
        for i in which:
            seq = self._seq_of(batch.line(i))
            nack = self._read_one(batch, i, seq, answers)
            if nack is None:
                acked.append(seq)
            else:
                answers.nacked.append(nack)
        return np.array(acked, np.int64)

    def _seq_of(self, line: bytes) -> int:
        subject = line.split(b" ", 2)[1]
        number = subject.removeprefix(self._prefix)
        if len(subject) - len(number) != len(self._prefix) or len(number) != self._seq_width:
            number = b""
        if not number.isdigit():
            raise WireError(f"an answer to none of our publishes: {line[:120]!r}")
        return int(number)

    def _read_one(self, batch: Batch, i: int, seq: int, answers: Answers) -> Nack | None:
        headers = batch.headers(i)
        if headers.startswith(b"NATS/1.0 503"):
            return Nack(seq, 503, "no stream listens on this subject")
        try:
            body = json.loads(batch.payload(i))
            if "error" in body:
                error = body["error"]
                code = int(error.get("err_code", error.get("code", 0)))
                return Nack(seq, code, str(error.get("description")))
            if type(body.get("seq")) is not int:
                return Nack(seq, 0, f"not an acknowledgement: {str(body)[:80]}")
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return Nack(seq, 0, f"not an acknowledgement: {batch.payload(i)[:80]!r}")
        if body.get("duplicate"):
            answers.deduplicated.append(seq)
        return None


def _are_digits(cells: Bytes) -> Flags:
    # Below "0" the difference wraps round to a large number.
    flags: Flags = np.less(cells - np.uint8(0x30), 10)
    return flags
