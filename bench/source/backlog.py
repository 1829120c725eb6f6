"""The backlog that every turn reads: events of an hour ago in a stream, and the same bytes as files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.contract.event import Event, encode_event
from bench.contract.names import FLUSH_KEY
from bench.driverbench.broker import Broker
from bench.driverbench.ours import RUN_ID
from bench.sparkbench.preload import STAMPED_PER_S, TASKS, Preload, fill_stream, write_files

#: Stamped this far in the past: an engine that goes by arrival and not by the events' own time is seen.
AGE_S = 3_600
#: A micro-batch's fixed cost is some 0.3 s: with fewer events it would be what is measured.
BATCH_EVENTS = 200_000
SUBJECT = "driver.0"


@dataclass(frozen=True)
class Backlog:
    """`preload.events` of ours, then one sentinel whose time closes all windows."""

    preload: Preload
    first_stamp_ms: int
    last_stamp_ms: int

    @property
    def events(self) -> int:
        return self.preload.events

    @property
    def messages(self) -> int:
        return self.preload.events + 1

    def first_of_last(self, events: int) -> int:
        """The sequence from which on there are so many events."""
        return self.events - events + 1


def batch_rows(events: int, tasks: int) -> int:
    """All events and the sentinel in batches of one size, each a whole file a task."""
    batches = max(3, round(events / BATCH_EVENTS))  # the first and the last of a turn are not counted
    return -(-(events + 1) // (batches * tasks)) * tasks


class Backlogs:
    """One at a time: there is one stream, and at full size it takes a gigabyte."""

    def __init__(self, broker: Broker, folder: Path, tasks: int = TASKS) -> None:
        """`folder` is ours alone."""
        self._broker, self._folder, self._tasks = broker, folder, tasks
        self._held: Backlog | None = None
        self._has_files = False

    def of(self, events: int, payload_bytes: int = 512, files: bool = False) -> Backlog:
        """Filled anew unless it is the one that is there."""
        held = self._held
        if held is None or (held.events, held.preload.payload_bytes) != (events, payload_bytes):
            self.clear()
            held = self._held = self._fill(events, payload_bytes)
        if files and not self._has_files:
            write_files(self._broker, replace(held.preload, events=held.messages))
            self._has_files = True
        return held

    def clear(self) -> None:
        for file in self._folder.iterdir():
            file.unlink()
        self._held, self._has_files = None, False

    def _fill(self, events: int, payload_bytes: int) -> Backlog:
        rows = batch_rows(events, self._tasks)
        preload = Preload(events, rows, self._tasks, self._folder, payload_bytes, AGE_S)
        first_ms = fill_stream(self._broker, preload, "file")
        last_ms = first_ms + events * 1_000 // STAMPED_PER_S
        sentinel = Event(RUN_ID, 0, last_ms + AGE_S * 1_000, FLUSH_KEY, 0)
        self._broker.store(SUBJECT, encode_event(sentinel, payload_bytes))
        return Backlog(preload, first_ms, last_ms)
