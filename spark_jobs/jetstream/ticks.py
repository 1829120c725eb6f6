"""Offsets, and the ticks that close windows when the wall clock passes their end. Pure: no server, no Spark.

A window over ingest time must close although no later event comes. So the source adds a tick: a row without
payload, stamped exactly at a window boundary, that moves Spark's watermark there. Spark uses a batch's
watermark in the next batch, where rows are judged late by the watermark before that one, and only then
windows are closed. Hence:

- a tick may be given up to `lead` before its boundary, since it closes nothing in its own batch;
- the batch after it must hold every event before the boundary, so it is not planned before the server's
  clock has passed boundary + grace, and it takes all there is, whatever the limit (what came since the
  tick: less than a lead and a batch);
- events read after that batch cannot belong to the closed window: `floor` says so, and rows are stamped at
  it or later, so that an event is counted in the next window and never dropped as late.

All three are functions of the offsets in Spark's log: a replayed batch has the same rows, ticks and stamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from spark_jobs.jetstream.stream import StreamState


@dataclass(frozen=True)
class Offset:
    #: The next sequence to read.
    seq: int
    #: The boundary of the last tick given, epoch ms; 0 before the first.
    tick_ms: int = 0
    #: The tick before that: windows that end here or earlier have been closed.
    floor_ms: int = 0

    def as_dict(self) -> dict[str, int]:
        return {"seq": self.seq, "tick": self.tick_ms, "floor": self.floor_ms}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Offset:
        return cls(int(given["seq"]), int(given.get("tick", 0)), int(given.get("floor", 0)))


@dataclass(frozen=True)
class Ticks:
    """`every_ms` 0 is no ticks."""

    every_ms: int = 0
    grace_ms: int = 0
    lead_ms: int = 0

    def wait_ms(self, start: Offset, now_ms: int) -> int:
        """How long until the batch after a tick may be planned."""
        if not self.every_ms or start.tick_ms == start.floor_ms:
            return 0
        return max(0, start.tick_ms + self.grace_ms - now_ms)

    def due_ms(self, now_ms: int) -> int:
        """The last boundary whose tick may be given by now."""
        return (now_ms - self.grace_ms + self.lead_ms) // self.every_ms * self.every_ms

    def next_offset(self, start: Offset, state: StreamState, limit: int | None) -> Offset:
        """Where the batch that begins at `start` ends; `start` itself if there is nothing to do."""
        head = max(state.next_seq, start.seq)
        end = head if limit is None else min(head, start.seq + limit)
        if not self.every_ms:
            return Offset(end, start.tick_ms, start.floor_ms)
        if start.tick_ms > start.floor_ms:
            end = head
        tick_ms = start.tick_ms
        if end == head:
            # Not while catching up: a tick would close windows whose events are still to be read.
            tick_ms = max(tick_ms, self.due_ms(state.now_ms))
        return Offset(end, tick_ms, start.tick_ms)


class Pace:
    """How long a micro-batch takes, as seen by the one who plans them: from a plan to the next question.

    A tick that leads by less than that misses its boundary: nobody asks in time, it comes a batch late, and
    the window is emitted a batch late too. So the lead follows the batches, up to half a window.
    """

    def __init__(self) -> None:
        self._planned_s: float | None = None
        self._batch_ms = 0

    def asked(self, now_s: float) -> None:
        if self._planned_s is not None:
            self._batch_ms = int((now_s - self._planned_s) * 1000)
            self._planned_s = None

    def planned(self, now_s: float) -> None:
        self._planned_s = now_s

    def following(self, ticks: Ticks) -> Ticks:
        lead_ms = max(ticks.lead_ms, min(self._batch_ms * 5 // 4, ticks.every_ms // 2))
        return replace(ticks, lead_ms=lead_ms)


def split(first: int, end: int, parts: int, least: int) -> list[tuple[int, int]]:
    """[first, end) in at most `parts` ranges of about one size, none smaller than `least` unless it is
    the only one.
    """
    count = max(1, min(parts, (end - first) // least)) if end > first else 0
    borders = [first + (end - first) * i // count for i in range(count + 1)] if count else []
    return list(pairwise(borders))
