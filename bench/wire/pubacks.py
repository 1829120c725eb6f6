"""JetStream's answers to publishes, checked in bulk.

A publish carries the reply subject <inbox>.<seq>, so every answer says which event it is for;
none is taken on trust or by counting alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from bench.wire.batch import Batch, digits_to_ints
from bench.wire.frames import Ints

#: nats-server writes the plain acknowledgement from a template of its own, hence the blank.
_PLAIN_ACK = b'{"stream":"%s", "seq":'


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
        self._seq_at = len(f"MSG {inbox}.")
        self._seq_width = seq_width
        self._ack = np.frombuffer(_PLAIN_ACK % stream.encode(), np.uint8)

    def read(self, batch: Batch) -> Answers:
        index = batch.index
        lengths = index.ends - index.starts
        borders = np.flatnonzero(np.diff(lengths)) + 1
        acked: list[Ints] = []
        answers = Answers(np.empty(0, np.int64))
        # Answers of one length lie in the buffer like the rows of a matrix.
        for first, last in zip([0, *borders], [*borders, len(batch)], strict=True):
            if last > first:
                acked.append(self._read_rows(batch, int(first), int(last), answers))
        answers.acked = np.concatenate(acked) if acked else answers.acked
        return answers

    def _read_rows(self, batch: Batch, first: int, last: int, answers: Answers) -> Ints:
        index = batch.index
        start, length = int(index.starts[first]), int(index.ends[first] - index.starts[first])
        body_at = int(index.line_ends[first]) + 2 - start
        if int(index.ends[last - 1]) - start != length * (last - first):
            # Control lines stood between them: no matrix.
            return self._read_singly(batch, range(first, last), answers)
        rows = batch.data[start : start + length * (last - first)].reshape(last - first, length)
        ack_end = body_at + len(self._ack)
        if length < ack_end + 4 or first in index.header_sizes:
            return self._read_singly(batch, range(first, last), answers)
        tail = rows[:, ack_end : length - 3]
        plain = (
            (rows[:, body_at:ack_end] == self._ack).all(axis=1)
            & ((tail >= 0x30) & (tail <= 0x39)).all(axis=1)
            & (rows[:, length - 3] == 0x7D)
        )
        seqs = digits_to_ints(rows[:, self._seq_at : self._seq_at + self._seq_width])
        if plain.all():
            return seqs
        odd = [first + int(i) for i in np.flatnonzero(~plain)]
        return np.concatenate([seqs[plain], self._read_singly(batch, odd, answers)])

    def _read_singly(self, batch: Batch, which: range | list[int], answers: Answers) -> Ints:
        acked: list[int] = []
        for i in which:
            seq = int(batch.subject(i).rsplit(".", 1)[1])
            nack = self._read_one(batch, i, seq, answers)
            if nack is None:
                acked.append(seq)
            else:
                answers.nacked.append(nack)
        return np.array(acked, np.int64)

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
            if not isinstance(body.get("seq"), int):
                return Nack(seq, 0, f"not an acknowledgement: {body!r}")
        except (ValueError, TypeError, AttributeError):
            return Nack(seq, 0, f"not an acknowledgement: {batch.payload(i)[:80]!r}")
        if body.get("duplicate"):
            answers.deduplicated.append(seq)
        return None
