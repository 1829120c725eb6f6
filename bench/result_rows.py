"""Result messages → rows of the upsert: the writer's hot path.

Engines spell a result as the contract's encoder does, field by field in one order. One regular expression
over the whole frame then finds reply subject, stream sequence and values at once: 2.4 µs a row against 5.0
for splitting the frame and parsing the JSON (same machine, same run). Whatever is spelled otherwise goes the
long way, by the same rules.
"""

from __future__ import annotations

import re

import orjson

from bench.contract.result import FIELDS, values_from_fields
from bench.upsert import row_end, row_start
from bench.wire.batch import Batch
from bench.wire.pull import delivery_of

#: What needs no escaping, neither in JSON nor in SQL.
_PLAIN = rb"[A-Za-z0-9_]*"
#: As JSON allows it, with blanks before; 18 digits fit into 64 bits.
_NUMBER = rb" *(-?(?:0|[1-9][0-9]{0,17}))"
_DELIVERY = rb"(\$JS\.ACK\.[^. ]+\.[^. ]+\.[0-9]+\.([0-9]+)\.[0-9]+\.[0-9]+\.[0-9]+)"
_FRAME = rb"H?MSG [^ ]+ [^ ]+ " + _DELIVERY + rb" [0-9 ]+\r\n(?:NATS/1\.0\r\n(?:[^\r\n]+\r\n)*\r\n)?"


#: Reply subject, stream sequence, the row's text, window end, seq; the text is empty if the message will
#: never become a row of this run. A plain tuple: a named one costs as much to make as its text.
Row = tuple[bytes, int, bytes, int, int]


class ResultRows:
    """Reads the results of one run; counts what is none of them."""

    def __init__(self, variant: str, run_id: str) -> None:
        self._run_id = run_id
        self._start = row_start(variant, run_id)
        self._spelled = re.compile(_FRAME + _payload(run_id) + rb"\r\n")
        self.malformed = 0
        self.foreign = 0

    def read(self, batch: Batch) -> list[Row]:
        """A row for every message."""
        spelled, start = self._spelled.fullmatch, self._start
        rows: list[Row] = []
        for i, frame in enumerate(batch.frames()):
            found = spelled(frame)
            if found is None:
                rows.append(self._the_long_way(batch, i))
                continue
            reply, stream_seq, *values = found.groups()
            text = start + b"%b',%b,%b,%b,%b,%b)" % tuple(values)
            rows.append((reply, int(stream_seq), text, int(values[1]), int(values[4])))
        return rows

    def _the_long_way(self, batch: Batch, i: int) -> Row:
        reply = batch.reply(i)
        stream_seq = delivery_of(reply)[1]
        nothing = (reply, stream_seq, b"", 0, 0)
        try:
            values = values_from_fields(orjson.loads(batch.payload(i)))
        except ValueError:
            self.malformed += 1
            return nothing
        if values[0] != self._run_id:
            self.foreign += 1
            return nothing
        return reply, stream_seq, self._start + row_end(*values[1:]), values[2], values[5]


def _payload(run_id: str) -> bytes:
    """The pattern of the contract's own spelling of this run's results."""
    quoted = re.escape(orjson.dumps(run_id))
    values = {"run_id": quoted, "key": b'"(' + _PLAIN + b')"'}
    members = [b'"%b":%b' % (name.encode(), values.get(name, _NUMBER)) for name in FIELDS]
    return rb"\{" + b",".join(members) + rb"\}"
