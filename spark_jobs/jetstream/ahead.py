"""Reading on behind a task's range, while Spark is busy with what comes after reading.

Between the reading of two micro-batches nobody asks the server for anything: Spark aggregates, commits,
plans. Where more events lie ready, a thread of the worker reads and parses them meanwhile, up to a bound,
and the next task finds them. It reads by direct gets only, which leave nothing on the server; what it cannot
have in full it leaves to the task, which reads in the ordinary way and says what is wrong.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable

import pyarrow as pa

from bench.wire.errors import WireError
from spark_jobs.jetstream.chunk import Chunk
from spark_jobs.jetstream.direct import DirectReader
from spark_jobs.jetstream.errors import BadRowError
from spark_jobs.jetstream.link import Link
from spark_jobs.jetstream.options import SourceOptions

#: What nobody has asked for in this time is let go: the query has ended, or Spark takes another worker.
IDLE_S = 60.0
NICENESS = 10


class ReadAhead:
    """The rows that `take` makes of the events from `first` on. One task at a time asks for them."""

    def __init__(
        self,
        options: SourceOptions,
        first: int,
        events_a_request: int,
        most_held: int,
        take: Callable[[Chunk], pa.RecordBatch],
    ) -> None:
        self._options, self._take = options, take
        self._count, self._most_held = events_a_request, max(events_a_request, most_held)
        #: The first sequence that no task has had; the first not read; the first that is not to be read.
        self.position = self._read_to = self._limit = first
        self._held: deque[tuple[int, pa.RecordBatch]] = deque()
        self._changed = threading.Condition()
        self._ended = False
        #: Whether it met what it cannot judge: a bad row is the task's to tell.
        self.met_a_bad_row = False
        threading.Thread(target=self._run, name="jetstream-ahead", daemon=True).start()

    @property
    def held(self) -> int:
        """Events that were read and no task has had."""
        with self._changed:
            return self._held[-1][0] - self.position if self._held else 0

    @property
    def is_over(self) -> bool:
        with self._changed:
            return self._ended and not self._held

    def rows(self, end: int, limit: int) -> Generator[pa.RecordBatch]:
        """Up to `end`, or less if reading has ended: see `position`. From now on it reads to `limit`."""
        with self._changed:
            self._limit = max(end, limit)
            self._changed.notify_all()
        while self.position < end:
            with self._changed:
                self._changed.wait_for(lambda: self._held or self._ended)
                if not self._held:
                    return
                stop, batch = self._held[0]
            done = batch.num_rows - (stop - self.position)
            yield batch.slice(done, min(stop, end) - self.position)
            with self._changed:
                self.position = min(stop, end)
                if stop <= end and self._held:  # let go meanwhile, if Spark took this long
                    self._held.popleft()
                self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        _step_back()
        try:
            link = Link(self._options.servers, self._options.connect_timeout_ms)
            try:
                while self._waits_for_room() and self._read(link):
                    pass
            finally:
                link.close()
        except (WireError, OSError):
            pass  # the task that comes for the rest will meet it too, and knows how often to try again
        except BadRowError:
            self.met_a_bad_row = True
        finally:
            self.stop()

    def _waits_for_room(self) -> bool:
        """False when nothing more is wanted."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._ended or self._has_room(), IDLE_S):
                self._held.clear()
            return self._has_room() and not self._ended

    def _has_room(self) -> bool:
        return self._may_ask(self._read_to) > self._read_to

    def _may_ask(self, unasked: int) -> int:
        """For whole requests only. What is asked for is read to its end at once: the server ends a connection
        that takes nothing. Asked without the lock too: a task only ever makes more room.
        """
        end = min(unasked + self._count, self._limit)
        return end if end <= self.position + self._most_held else unasked

    def _read(self, link: Link) -> bool:
        reader = DirectReader(link, self._options.stream, self._options.linger_ms / 1000)
        for _, batches in reader.pieces(self._read_to, self._may_ask, self._count, self._take):
            with self._changed:
                for batch in batches:
                    self._read_to += batch.num_rows
                    self._held.append((self._read_to, batch))
                self._changed.notify_all()
                if self._ended:
                    return False  # nobody wants the rest; with the link go the answers on their way
        return reader.whole


def _step_back() -> None:
    """This thread, behind all that Spark does: on two cores its planning took twice as long beside it, and
    then it stood still with all that it may hold while a core was free.
    """
    if sys.platform == "linux":  # elsewhere it would be the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class Guesses:
    """Which events a worker's next task will want: those behind its last one's. One guess at a time.

    Spark hands tasks to its workers in turn, so with several workers or queries the guess is wrong, and the
    events were read for nothing: who guessed wrong once does not guess again.
    """

    def __init__(self) -> None:
        self._current: tuple[Hashable, ReadAhead] | None = None
        self._was_wrong = False
        self._with_bad_rows: set[Hashable] = set()

    def at(self, query: Hashable, first: int, start: Callable[[], ReadAhead] | None) -> ReadAhead | None:
        """The one that goes on at `first`; else a new one, where `start` makes one and it may be worth it."""
        if self._current is not None:
            of, ahead = self._current
            if of == query and ahead.position == first and not ahead.is_over:
                return ahead
            self._current = None
            if ahead.met_a_bad_row:
                self._with_bad_rows.add(of)
            elif ahead.held:
                self._was_wrong = True
            ahead.stop()
        if start is None or self._was_wrong or query in self._with_bad_rows:
            return None
        self._current = (query, start())
        return self._current[1]
