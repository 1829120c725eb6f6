"""The writer: results.<variant>.* → TiDB in batches, acknowledged only after the commit.

At-least-once in, idempotent upsert out: exactly once in the table. What an upsert would hide is
counted before: how many messages came, how many of them again, how many rows the database had.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from pymysql.connections import Connection as DatabaseConnection

from bench.clock import RunClock
from bench.fault.hold import Crashed, Hold
from bench.latency import LatencyRecorder
from bench.outage import OutageLog
from bench.patient_reader import reopened
from bench.phases import Phases
from bench.result_rows import ResultRows
from bench.stream_seqs import StreamSeqs
from bench.upsert import Upserter, readable
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost
from bench.wire.pull import PullReader, delivery_of

RECONNECT_S = 60.0
MIN_FETCH = 500
#: After the first message, so that few are not parsed one by one.
LINGER_S = 0.002
#: How long nothing may happen until somebody looks whether to stop.
IDLE_S = 0.05


@dataclass(frozen=True)
class WriterSettings:
    batch_size_rows: int = 500
    flush_interval_ms: int = 50
    #: Database connections. TiDB works on one batch a connection at a time: two keep it busy while the answer
    #: to one is on its way (23,300 rows/s against 15,000 with one, medians of one run on two cores).
    lanes: int = 2


#: A row's text, its message's reply subject, its window end. A plain tuple: a named one costs ten times as
#: much to make, once a row.
_PendingRow = tuple[bytes, bytes, int]


class Writer:
    """One thread: reads a pull consumer with explicit acks, writes to a few database connections in turn."""

    def __init__(
        self,
        connect_nats: Callable[[str], Connection],
        connect_database: Callable[[], DatabaseConnection],
        stream: str,
        consumer: str,
        clock: RunClock,
        phases: Phases,
        *,
        run_id: str,
        variant: str,
        settings: WriterSettings | None = None,
    ) -> None:
        self._connect_nats = connect_nats
        self._connect_database = connect_database
        self._stream, self._consumer = stream, consumer
        self._clock = clock
        self._phases = phases
        self._rows = ResultRows(variant, run_id)
        self._settings = settings or WriterSettings()
        self._trouble: tuple[str, int] | None = None
        self._pending: list[_PendingRow] = []
        self._pending_since = 0.0
        self._to_ack: list[bytes] = []
        self._lanes: list[Upserter] = []
        self._under_way: dict[Upserter, list[_PendingRow]] = {}
        self._broken_too: set[Upserter] = set()
        self._received = StreamSeqs()
        self.commit_latency = LatencyRecorder()
        self.received = 0
        self.distinct = 0  # rows of this run, each message counted once however often delivered
        self.redelivered = 0
        self.committed = 0
        self.db_had = 0
        self._excused = 0
        self.max_seq = 0
        self.outage_log = OutageLog("writer", clock, phases.start_ns)
        self.hold = Hold()
        #: Stream sequences of what was lost with a crash, until they come again.
        self._forgotten: set[int] = set()
        self._regained = 0

    @property
    def repeats(self) -> int:
        """Deliveries of what had been written already, or will be by an earlier delivery."""
        return self.redelivered - self._regained

    @property
    def stray(self) -> int:
        """Messages that are no rows of this run."""
        return self._rows.malformed + self._rows.foreign

    def hidden_duplicates(self, published: int) -> int:
        """Duplicates that the upsert made invisible: more messages came than were published, or the
        table already had rows that no redelivery and no retried commit explains."""
        return max(0, self.distinct - published, self.db_had - self.redelivered - self._excused)

    def run(self, stop: threading.Event) -> None:
        self._lanes = [Upserter(self._connect_database) for _ in range(self._settings.lanes)]
        reader = self._open()
        try:
            while not stop.is_set() or self._pending or self._under_way:
                try:
                    self.hold.check(stop)
                    self._step(reader, stop)
                except Crashed as crash:
                    reader = self._begin_anew(reader, crash, stop)
                except ConnectionLost as error:
                    reader.connection.close()
                    reader = self.outage_log.reopen(self._open, error, stop, RECONNECT_S)
        finally:
            reader.connection.close()
            for lane in self._lanes:
                lane.close()

    def _begin_anew(self, reader: PullReader, crash: Crashed, stop: threading.Event) -> PullReader:
        """As another process would: without connections, rows, or acks to send."""
        lost_ns = self._clock.now_ns()
        # What waits for its ack only has been written: its next delivery is a repeat.
        held = chain(self._pending, *self._under_way.values())
        self._forgotten.update(delivery_of(reply)[1] for _, reply, _ in held)
        self._pending, self._to_ack, self._under_way = [], [], {}
        self._trouble, self._broken_too = None, set()
        reader.connection.close()
        for lane in self._lanes:
            lane.close()
        self.hold.wait(stop)
        self._lanes = [Upserter(self._connect_database) for _ in range(self._settings.lanes)]
        reader = self._open()
        self.outage_log.note(str(crash), lost_ns)
        return reader

    def _open(self) -> PullReader:
        # Two requests are open: what they bring at once should be made into rows while one batch is written.
        batch = max(MIN_FETCH, self._settings.batch_size_rows)
        return reopened(self._connect_nats("writer"), self._stream, self._consumer, batch)

    def _step(self, reader: PullReader, stop: threading.Event) -> None:
        self._begin_due(stop)
        has_room = len(self._pending) < self._settings.batch_size_rows
        self._wait(reader, has_room, stop)
        if has_room:
            batch = reader.read(0.0, LINGER_S)
            if len(batch):
                self._take(batch)
        self._finish_answered(stop)
        self._send_acks(reader)

    def _wait(self, reader: PullReader, has_room: bool, stop: threading.Event) -> None:
        """Until a message or an answer is there, or the pending rows are due."""
        files = [lane.fileno() for lane in self._under_way]
        if has_room:
            files.append(reader.connection.fileno())
        wait_s = self._flush_in_s() if self._pending and len(self._under_way) < len(self._lanes) else IDLE_S
        readable(files, 0.0 if stop.is_set() and self._pending else wait_s)

    def _flush_in_s(self) -> float:
        age_s = time.monotonic() - self._pending_since
        return max(0.0, self._settings.flush_interval_ms / 1000 - age_s)

    def _send_acks(self, reader: PullReader) -> None:
        if self._to_ack:
            # Kept until sent: after a broken connection they go out on the next one.
            reader.ack_each(self._to_ack)
            self._to_ack = []

    # -- messages → rows -----------------------------------------------------------

    def _take(self, batch: Batch) -> None:
        if not self._pending:
            self._pending_since = time.monotonic()
        self.received += len(batch)
        max_seq = self.max_seq
        for reply, stream_seq, text, window_end_ms, seq in self._rows.read(batch):
            fresh = self._received.first_time(stream_seq)
            if not fresh:
                self.redelivered += 1
                if stream_seq in self._forgotten:
                    self._forgotten.remove(stream_seq)
                    self._regained += 1
            if not text:
                self._to_ack.append(reply)  # it will never become a row: do not have it sent again
                continue
            self._pending.append((text, reply, window_end_ms))
            self.distinct += fresh
            if seq > max_seq:
                max_seq = seq
        self.max_seq = max_seq

    # -- rows → database -------------------------------------------------------------

    def _begin_due(self, stop: threading.Event) -> None:
        """Give full batches, and those that have waited long enough, to lanes that are free."""
        size = self._settings.batch_size_rows
        for lane in self._lanes:
            due = len(self._pending) >= size or (self._pending and self._flush_in_s() <= 0) or stop.is_set()
            if not due or not self._pending:
                return
            if lane.busy:
                continue
            rows, self._pending = self._pending[:size], self._pending[size:]
            self._pending_since = time.monotonic()
            lane.begin([text for text, _, _ in rows])
            self._under_way[lane] = rows

    def _finish_answered(self, stop: threading.Event) -> None:
        for lane in [lane for lane in self._under_way if lane.answered()]:
            inserted = lane.finish(stop, self._on_trouble)
            rows = self._under_way.pop(lane)
            if self._trouble is not None:
                self._end_outage(lane, *self._trouble)
                # Whether the first try was committed nobody knows: rows found there prove nothing.
                self._excused += len(rows)
            self._broken_too.discard(lane)
            self.committed += len(rows)
            self.db_had += len(rows) - inserted
            self._to_ack.extend(reply for _, reply, _ in rows)
            self._record_commit(rows)

    def _end_outage(self, lane: Upserter, what: str, lost_ns: int) -> None:
        """The other lanes' connections broke with this one: their trouble is no outage of its own."""
        self._trouble = None
        if lane not in self._broken_too:
            self.outage_log.note(what, lost_ns)
            for other in self._lanes:
                if other is not lane and not other.busy:
                    other.close()
            self._broken_too = set(self._under_way)

    def _on_trouble(self, error: Exception) -> None:
        if self._trouble is None:
            self._trouble = (f"database: {error}", self._clock.now_ns())

    def _record_commit(self, rows: list[_PendingRow]) -> None:
        now_ns = self._clock.now_ns()
        if self._phases.measuring(now_ns):
            ends_ms = np.array([end_ms for _, _, end_ms in rows], np.int64)
            self.commit_latency.record(self._clock.epoch_ns(now_ns) // 1000 - ends_ms * 1000)
