"""A message of the transport suite: who sent it, its number, when; then padding to the size asked for.

Publisher (2 digits), seq (10) and monotonic nanoseconds (19) stand at fixed places, so that a subscriber
reads them out of thousands of messages at once. The clock is the machine's: sender and reader share it.
"""

from __future__ import annotations

import numpy as np

from bench.row_template import Cell as RowCell
from bench.row_template import RowTemplate, digits
from bench.tickets import Tickets
from bench.wire.batch import Batch, numbers_before
from bench.wire.frames import Ints

_WHO, _SEQ, _STAMP = 2, 10, 19
HEAD_BYTES = _WHO + _SEQ + _STAMP


class Address:
    """Where a publisher's messages go and where their answers come back."""

    def __init__(self, subject: str, inbox: str, publisher: int, total: int, size: int) -> None:
        if size < HEAD_BYTES:
            raise ValueError(f"a message of {size} bytes: at least {HEAD_BYTES} are needed")
        self.subject, self.inbox, self.publisher, self.size = subject, inbox, publisher, size
        self.total = total
        self.seq_width = len(str(total))
        self.pad = b"x" * (size - HEAD_BYTES)


class PlainFrames:
    """PUB frames with a ticket each, `capacity` at a time."""

    def __init__(self, address: Address, capacity: int) -> None:
        self._tickets = Tickets(address.total)
        parts: list[bytes | RowCell] = [
            f"PUB {address.subject} {address.inbox}.".encode(),
            RowCell("ticket", self._tickets.width),
            f" {address.size}\r\n{address.publisher:02d}".encode(),
            RowCell("seq", _SEQ),
            RowCell("stamp", _STAMP),
            address.pad + b"\r\n",
        ]
        self._rows = RowTemplate(parts, capacity)

    def build(self, seqs: Ints, stamps_ns: Ints) -> bytes:
        count = len(seqs)
        self._rows.cells("ticket", count)[:] = digits(self._tickets.shared(seqs), self._tickets.width)
        self._rows.cells("seq", count)[:] = digits(seqs, _SEQ)
        self._rows.cells("stamp", count)[:] = digits(stamps_ns, _STAMP)
        return bytes(self._rows.rows(count))


class SingleFrame:
    """One PUB frame, made by formatting: at one message a turn numpy's set-up would be most of the cost."""

    def __init__(self, address: Address) -> None:
        # One reply for all: only one message is under way.
        self._pattern = (
            f"PUB {address.subject} {address.inbox}.0 {address.size}\r\n"
            f"{address.publisher:02d}%0{_SEQ}d%0{_STAMP}d"
        ).encode()
        self._tail = address.pad + b"\r\n"

    def build(self, seq: int, stamp_ns: int) -> bytes:
        return self._pattern % (seq, stamp_ns) + self._tail


class BatchFrames:
    """The frames of one atomic batch: only the last has a reply, and commits.

    As `nats bench js pub batch` sends them: Nats-Batch-Id, Nats-Batch-Sequence, Nats-Batch-Commit.
    """

    def __init__(self, address: Address, capacity: int) -> None:
        self._address = address
        number_width = len(str(capacity))
        self._number = f"%0{number_width}d"
        self._batch_id = address.inbox.rpartition(".")[2]
        head = f"NATS/1.0\r\nNats-Batch-Id:{self._batch_id}\r\nNats-Batch-Sequence:"
        header_bytes = len(head) + number_width + 4
        parts: list[bytes | RowCell] = [
            f"HPUB {address.subject} {header_bytes} {header_bytes + address.size}\r\n{head}".encode(),
            RowCell("number", number_width),
            f"\r\n\r\n{address.publisher:02d}".encode(),
            RowCell("seq", _SEQ),
            RowCell("stamp", _STAMP),
            address.pad + b"\r\n",
        ]
        self._number_width = number_width
        self._rows = RowTemplate(parts, capacity)

    def build(self, seqs: Ints, stamps_ns: Ints) -> bytes:
        """The answer comes to the last message's number."""
        count = len(seqs) - 1
        cells = self._rows.cells
        if count:
            cells("number", count)[:] = digits(np.arange(1, count + 1, dtype=np.int64), self._number_width)
            cells("seq", count)[:] = digits(seqs[:-1], _SEQ)
            cells("stamp", count)[:] = digits(stamps_ns[:-1], _STAMP)
        return bytes(self._rows.rows(count)) + self._commit(len(seqs), int(seqs[-1]), int(stamps_ns[-1]))

    def _commit(self, number: int, seq: int, stamp_ns: int) -> bytes:
        address = self._address
        headers = (
            f"NATS/1.0\r\nNats-Batch-Id:{self._batch_id}\r\nNats-Batch-Sequence:{self._number % number}\r\n"
            "Nats-Batch-Commit:1\r\n\r\n"
        )
        line = (
            f"HPUB {address.subject} {address.inbox}.{seq:0{address.seq_width}d} "
            f"{len(headers)} {len(headers) + address.size}\r\n"
        )
        body = f"{address.publisher:02d}{seq:0{_SEQ}d}{stamp_ns:0{_STAMP}d}"
        return (line + headers + body).encode() + address.pad + b"\r\n"


def read_heads(batch: Batch) -> tuple[Ints, Ints, Ints]:
    """(publisher, seq, stamp in ns) of each message."""
    starts = batch.body_starts
    if batch.index.header_sizes:
        starts = starts.copy()
        which = np.fromiter(batch.index.header_sizes.keys(), np.int64)
        starts[which] += np.fromiter(batch.index.header_sizes.values(), np.int64)
    data = batch.data
    publisher = numbers_before(data, starts + _WHO, _WHO)
    seqs = numbers_before(data, starts + (_WHO + _SEQ), _SEQ)
    return publisher, seqs, numbers_before(data, starts + HEAD_BYTES, _STAMP)
