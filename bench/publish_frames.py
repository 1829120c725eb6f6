"""The frames a producer sends: events, or case B's mock results, as PUB or HPUB rows."""

from __future__ import annotations

import json
import random
import string
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bench.contract.event import VALUE_FACTOR, VALUE_OFFSET
from bench.contract.names import check_run_id
from bench.contract.partition import partition_of
from bench.row_template import (
    Bytes,
    Cell,
    Ints,
    RowTemplate,
    digits,
    table_rows,
    text_table,
    write_number,
    write_quoted_end,
)
from bench.tickets import Tickets

_TS_WIDTH = 13


@dataclass(frozen=True)
class FrameShape:
    """What all messages of a run have in common."""

    run_id: str
    total: int
    num_keys: int
    subjects: tuple[str, ...]
    inbox: str
    #: Nats-Msg-Id on every message: JetStream then drops what is published again after a reconnect.
    message_ids: bool = False
    capacity: int = 1024

    @property
    def seq_width(self) -> int:
        return len(str(self.total))

    @property
    def tickets(self) -> Tickets:
        return Tickets(self.total)

    @property
    def value_width(self) -> int:
        return len(str(VALUE_FACTOR * self.total + VALUE_OFFSET))


class PublishFrames(Protocol):
    """Makes the frames of given seqs; the bytes are valid until the next call."""

    @property
    def width(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def message_ids(self) -> bool:
        """Whether JetStream would know a message that is published again."""
        ...

    def build(self, seqs: Ints, intended_epoch_ns: Ints, tickets: Ints) -> memoryview: ...

    def seq_of(self, payload: bytes) -> int:
        """Which of ours this is; 0 or less if it is nobody's that we know."""
        ...


class _Frames:
    """What events and mock results share: subject, reply, message id, key."""

    def __init__(self, shape: FrameShape, body: list[bytes | Cell]) -> None:
        check_run_id(shape.run_id)
        if shape.num_keys < 1 or not shape.subjects:
            raise ValueError("frames need at least one key and one subject")
        self._shape = shape
        keys = [f"k{index}" for index in range(shape.num_keys)]
        partitions = len(shape.subjects)
        self._keys = text_table([f'{key}"' for key in keys])
        self._subjects = text_table([shape.subjects[_spread(key, partitions)] for key in keys])
        self._template = RowTemplate(self._head(_width(body)) + body + [b"\r\n"], shape.capacity)

    def _head(self, size: int) -> list[bytes | Cell]:
        shape = self._shape
        subject, ticket = Cell("subject", self._subjects.shape[1]), Cell("ticket", shape.tickets.width)
        address: list[bytes | Cell] = [subject, f" {shape.inbox}.".encode(), ticket]
        if not shape.message_ids:
            return [b"PUB ", *address, f" {size}\r\n".encode()]
        before, after = f"NATS/1.0\r\nNats-Msg-Id:{shape.run_id}-".encode(), b"\r\n\r\n"
        header = len(before) + shape.seq_width + len(after)
        sizes = f" {header} {header + size}\r\n".encode()
        return [b"HPUB ", *address, sizes, before, Cell("message_id", shape.seq_width), after]

    @property
    def width(self) -> int:
        return self._template.width

    @property
    def capacity(self) -> int:
        return self._template.capacity

    @property
    def message_ids(self) -> bool:
        return self._shape.message_ids

    def seq_of(self, payload: bytes) -> int:
        return number_in(payload)

    def _fill_head(self, tickets: Ints, keys: Ints, decimal: Bytes) -> None:
        count = len(tickets)
        cells = self._template.cells
        cells("subject", count)[:] = table_rows(self._subjects, keys)
        cells("ticket", count)[:] = digits(tickets, self._shape.tickets.width)
        if self._shape.message_ids:
            cells("message_id", count)[:] = decimal


class EventFrames(_Frames):
    """Events of exactly `payload_bytes` bytes on `events.<p>`."""

    def __init__(self, shape: FrameShape, payload_bytes: int, seed: int = 0) -> None:
        key_width = len(f'k{shape.num_keys - 1}"')
        start = f'{{"run_id":"{shape.run_id}","event_id":"{shape.run_id}-'.encode()
        self.layout = EventLayout(start, shape.seq_width, payload_bytes)
        body: list[bytes | Cell] = [
            start,
            Cell("event_id", shape.seq_width + 1),
            SEQ_LABEL,
            Cell("seq", shape.seq_width),
            b',"producer_ts_ms":',
            Cell("ts", _TS_WIDTH),
            b',"key":"',
            Cell("key", key_width),
            b',"value":',
            Cell("value", shape.value_width),
            b',"payload":"',
        ]
        pad = payload_bytes - _width(body) - len(b'"}')
        if pad < 0:
            raise ValueError(
                f"--payload-bytes {payload_bytes} is too small: run id {shape.run_id!r} and "
                f"{shape.total} events need at least {payload_bytes - pad}"
            )
        letters = random.Random(seed).choices(string.ascii_letters + string.digits, k=pad)
        super().__init__(shape, [*body, "".join(letters).encode(), b'"}'])

    def build(self, seqs: Ints, intended_epoch_ns: Ints, tickets: Ints) -> memoryview:
        count = len(seqs)
        cells = self._template.cells
        decimal = digits(seqs, self._shape.seq_width)
        keys = seqs % self._shape.num_keys
        self._fill_head(tickets, keys, decimal)
        write_quoted_end(cells("event_id", count), seqs, decimal)
        write_number(cells("seq", count), seqs, decimal)
        cells("ts", count)[:] = digits(intended_epoch_ns // 1_000_000, _TS_WIDTH)
        cells("key", count)[:] = table_rows(self._keys, keys)
        write_number(cells("value", count), VALUE_FACTOR * seqs + VALUE_OFFSET)
        return self._template.rows(count)


SEQ_LABEL = b',"seq":'


@dataclass(frozen=True)
class EventLayout:
    """Where an observer finds the seq in an event that EventFrames made."""

    start: bytes
    seq_width: int
    payload_bytes: int

    @property
    def label_at(self) -> int:
        return len(self.start) + self.seq_width + 1

    @property
    def seq_at(self) -> int:
        return self.label_at + len(SEQ_LABEL)


class MockResultFrames(_Frames):
    """Result rows on `results.mock.<p>`, each with its intended time as window end."""

    def __init__(self, shape: FrameShape) -> None:
        key_width = len(f'k{shape.num_keys - 1}"')
        body: list[bytes | Cell] = [
            f'{{"run_id":"{shape.run_id}","key":"'.encode(),
            Cell("key", key_width),
            b',"window_end_ms":',
            Cell("ts", _TS_WIDTH),
            b',"count":1,"sum_value":',
            Cell("value", shape.value_width),
            b',"seq":',
            Cell("seq", shape.seq_width),
            b',"producer_ts_ms":',
            Cell("ts2", _TS_WIDTH),
            b"}",
        ]
        super().__init__(shape, body)

    def build(self, seqs: Ints, intended_epoch_ns: Ints, tickets: Ints) -> memoryview:
        count = len(seqs)
        cells = self._template.cells
        decimal = digits(seqs, self._shape.seq_width)
        keys = seqs % self._shape.num_keys
        self._fill_head(tickets, keys, decimal)
        cells("key", count)[:] = table_rows(self._keys, keys)
        cells("ts", count)[:] = digits(intended_epoch_ns // 1_000_000, _TS_WIDTH)
        cells("ts2", count)[:] = cells("ts", count)
        write_number(cells("value", count), VALUE_FACTOR * seqs + VALUE_OFFSET)
        write_number(cells("seq", count), seqs, decimal)
        return self._template.rows(count)


def number_in(payload: bytes) -> int:
    """The seq that a message carries; 0 if it carries none."""
    try:
        return int(json.loads(payload)["seq"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return 0


def _spread(key: str, partitions: int) -> int:
    """The partition of a key; more than the contract's 16 exist only for measuring the driver."""
    if partitions <= 16:
        return partition_of(key, partitions)
    return int(key[1:]) % partitions


def _width(parts: list[bytes | Cell]) -> int:
    return sum(part.width if isinstance(part, Cell) else len(part) for part in parts)


def seq_range(first: int, last: int) -> Ints:
    return np.arange(first, last + 1, dtype=np.int64)
