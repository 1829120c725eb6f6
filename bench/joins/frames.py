"""The frames of a topic, made in bulk: PUB rows for the producer."""

from __future__ import annotations

import random
import string

from bench.contract.event import VALUE_FACTOR, VALUE_OFFSET
from bench.joins.rows import KEY_WIDTH, row_count, rows_of
from bench.joins.streams import subject_of
from bench.joins.workload import Workload
from bench.publish_frames import number_in
from bench.row_template import Cell, RowTemplate, digits, write_number
from bench.schedule import Ints
from bench.tickets import Tickets

_TS_WIDTH = 16


class TopicFrames:
    """Rows first to last of one topic; to the producer they are 1, 2, …"""

    def __init__(self, workload: Workload, topic: str, first: int, total: int, inbox: str) -> None:
        self._workload, self._topic, self._first = workload, topic, first
        self._keys = max(1, len(workload.lookups)) if topic == workload.fact else 1
        self.total, self.inbox = total, inbox
        self._ticket_width = Tickets(total).width
        most = row_count(workload, topic)
        number, value = len(str(most)), len(str(VALUE_FACTOR * most + VALUE_OFFSET))
        body: list[bytes | Cell] = [b'{"seq":', Cell("seq", number), b',"ts_us":', Cell("ts", _TS_WIDTH)]
        for which in range(self._keys):
            body += [f',"k{which}":'.encode(), Cell(f"k{which}", KEY_WIDTH)]
        body += [b',"value":', Cell("value", value), b',"payload":"']
        width = sum(part.width if isinstance(part, Cell) else len(part) for part in body) + len(b'"}')
        pad = workload.payload_bytes - width
        if pad < 0:
            raise ValueError(f"payload of {workload.payload_bytes} bytes is too small: {width} are needed")
        letters = random.Random(workload.seed).choices(string.ascii_letters + string.digits, k=pad)
        head = f"PUB {subject_of(topic)} {inbox}.".encode()
        size = f" {workload.payload_bytes}\r\n".encode()
        parts = [head, Cell("ticket", self._ticket_width), size, *body, "".join(letters).encode(), b'"}\r\n']
        self._template = RowTemplate(parts, 1024)

    @property
    def width(self) -> int:
        return self._template.width

    @property
    def capacity(self) -> int:
        return self._template.capacity

    @property
    def message_ids(self) -> bool:
        return False

    def seq_of(self, payload: bytes) -> int:
        return number_in(payload) - (self._first - 1)

    def build(
        self,
        seqs: Ints,
        intended_epoch_ns: Ints,  # noqa: ARG002 - event time is its own
        tickets: Ints,
    ) -> memoryview:
        count, cells = len(seqs), self._template.cells
        rows = rows_of(self._workload, self._topic, seqs + (self._first - 1))
        cells("ticket", count)[:] = digits(tickets, self._ticket_width)
        write_number(cells("seq", count), rows.numbers)
        cells("ts", count)[:] = digits(rows.ts_us, _TS_WIDTH)
        for which in range(self._keys):
            write_number(cells(f"k{which}", count), rows.keys[which])
        write_number(cells("value", count), rows.values)
        return self._template.rows(count)
