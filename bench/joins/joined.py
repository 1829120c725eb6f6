"""What was joined, read back in bulk: each row's fact, its matches, its total, and when it was stored."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from bench.driverbench.errors import TurnFailed
from bench.joins.streams import JOINED, JoinStreams
from bench.schedule import Ints
from bench.wire.pull import PullReader, stored_ns

_SILENCE_S = 20.0
_BATCH = 5_000


@dataclass(frozen=True)
class Joined:
    """One entry a row, in the order in which they were stored; a row that is none of ours has number 0."""

    numbers: Ints
    #: Rows × lookup topics; 0 is no match.
    matches: Ints
    totals: Ints
    stored_ns: Ints

    def __len__(self) -> int:
        return len(self.numbers)


def nothing_joined(lookups: int) -> Joined:
    empty = np.empty(0, np.int64)
    return Joined(empty, np.empty((0, lookups), np.int64), empty, empty)


def read_joined(streams: JoinStreams, lookups: int) -> Joined:
    """Everything in the stream; raises TurnFailed if it does not come."""
    wanted = streams.message_count(JOINED)
    if not wanted:
        return nothing_joined(lookups)
    decode = _decoder(lookups)
    name = f"joined-{secrets.token_hex(4)}"
    streams.make_reader(name)
    connection = streams.connect("joined")
    columns: list[Ints] = []
    stamps: list[Ints] = []
    got, heard = 0, time.monotonic()
    try:
        reader = PullReader(connection, JOINED, name, batch=_BATCH)
        while got < wanted:
            batch = reader.read(1.0, linger_s=0.003)
            if len(batch):
                heard = time.monotonic()
                stamps.append(stored_ns(batch))
                columns.append(np.array([decode(one) for one in batch.payloads()], np.int64))
                got += len(batch)
            elif time.monotonic() - heard > _SILENCE_S:
                raise TurnFailed(f"read {got} of {wanted} rows that were joined")
    finally:
        connection.close()
    table = np.concatenate(columns)
    return Joined(table[:, 0], table[:, 2:], table[:, 1], np.concatenate(stamps))


def _decoder(lookups: int) -> Callable[[bytes], tuple[int, ...]]:
    """Number, total and matches of a row; zeros if it is not one of ours."""
    names = [f"m{which}" for which in range(lookups)]
    matches: list[tuple[str, Any, Any]] = [(name, int | None, None) for name in names]
    kind: Any = msgspec.defstruct("JoinedRow", [("seq", int), ("total", int), *matches], gc=False)
    decoder = msgspec.json.Decoder(kind)
    nobody = (0,) * (2 + lookups)

    def decode(payload: bytes) -> tuple[int, ...]:
        try:
            row = decoder.decode(payload)
            return (row.seq, row.total, *(getattr(row, name) or 0 for name in names))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return nobody

    return decode
