"""The writer: results.<variant>.* → TiDB in batches, acknowledged only after the commit.

At-least-once in, idempotent upsert out: exactly once in the table. What an upsert would hide is
counted before: how many messages came, how many of them again, how many rows the database had.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import orjson
from pymysql.connections import Connection as DatabaseConnection

from bench.clock import RunClock
from bench.contract.result import Values, values_from_fields
from bench.latency import LatencyRecorder
from bench.outage import OutageLog
from bench.phases import Phases
from bench.stream_seqs import StreamSeqs
from bench.upsert import Upserter, row_end, row_start
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost
from bench.wire.pull import PullReader, delivery_of

RECONNECT_S = 60.0
MIN_FETCH = 500


@dataclass(frozen=True)
class WriterSettings:
    batch_size_rows: int = 500
    flush_interval_ms: int = 50


#: A row's text, its message's reply subject, its window end. A plain tuple: a named one costs ten times as
#: much to make, once a row.
_PendingRow = tuple[str, bytes, int]


class Writer:
    """One thread: reads a pull consumer with explicit acks, writes to one database connection."""

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
        self._run_id = run_id
        self._row_start = row_start(variant, run_id)
        self._settings = settings or WriterSettings()
        self._trouble: tuple[str, int] | None = None
        self._pending: list[_PendingRow] = []
        self._pending_since = 0.0
        self._to_ack: list[bytes] = []
        self._lost: ConnectionLost | None = None
        self._received = StreamSeqs()
        self.commit_latency = LatencyRecorder()
        self.received = 0
        self.distinct = 0  # rows of this run, each message counted once however often delivered
        self.redelivered = 0
        self.foreign = 0
        self.malformed = 0
        self.committed = 0
        self.db_had = 0
        self._excused = 0
        self.max_seq = 0
        self.outage_log = OutageLog("writer", clock, phases.start_ns)

    def hidden_duplicates(self, published: int) -> int:
        """Duplicates that the upsert made invisible: more messages came than were published, or the
        table already had rows that no redelivery and no retried commit explains."""
        return max(0, self.distinct - published, self.db_had - self.redelivered - self._excused)

    def run(self, stop: threading.Event) -> None:
        self._upserter = Upserter(self._connect_database)
        reader = self._open()
        try:
            while not stop.is_set() or self._pending:
                try:
                    self._step(reader, stop)
                except ConnectionLost as error:
                    reader.connection.close()
                    reader = self.outage_log.reopen(self._open, error, stop, RECONNECT_S)
        finally:
            reader.connection.close()
            self._upserter.close()

    def _open(self) -> PullReader:
        self._lost = None
        # Two requests are open: what they bring at once should be made into rows while one batch is written.
        batch = max(MIN_FETCH, self._settings.batch_size_rows)
        return PullReader(self._connect_nats("writer"), self._stream, self._consumer, batch)

    def _step(self, reader: PullReader, stop: threading.Event) -> None:
        self._send_acks(reader)
        size = self._settings.batch_size_rows
        if len(self._pending) < size:
            wait_s = self._flush_in_s() if self._pending else 0.05
            batch = reader.read(wait_s, linger_s=min(wait_s, 0.002))
            if len(batch):
                self._take(batch)
        while len(self._pending) >= size:
            self._flush(size, reader, stop)
        if self._pending and (self._flush_in_s() <= 0 or stop.is_set()):
            self._flush(len(self._pending), reader, stop)
        self._send_acks(reader)
        if self._lost is not None:
            lost, self._lost = self._lost, None
            raise lost

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
        start = self._row_start
        for reply, payload in zip(batch.replies(), batch.payloads(), strict=True):
            fresh = self._received.first_time(delivery_of(reply)[1])
            if not fresh:
                self.redelivered += 1
            values = self._parse(payload)
            if values is None:
                self._to_ack.append(reply)  # it will never become a row: do not have it sent again
                continue
            window_end_ms, seq = values[2], values[5]
            self._pending.append((start + row_end(*values[1:]), reply, window_end_ms))
            self.distinct += fresh
            if seq > self.max_seq:
                self.max_seq = seq

    def _parse(self, payload: bytes) -> Values | None:
        try:
            values = values_from_fields(orjson.loads(payload))
        except ValueError:
            self.malformed += 1
            return None
        if values[0] != self._run_id:
            self.foreign += 1
            return None
        return values

    # -- rows → database -------------------------------------------------------------

    def _flush(self, count: int, reader: PullReader, stop: threading.Event) -> None:
        rows, self._pending = self._pending[:count], self._pending[count:]
        self._pending_since = time.monotonic()
        try:
            inserted = self._upserter.commit(
                [text for text, _, _ in rows], stop, self._on_trouble, lambda: self._read_ahead(reader, stop)
            )
        except BaseException:
            self._pending = rows + self._pending
            raise
        if self._trouble is not None:
            self.outage_log.note(*self._trouble)
            self._trouble = None
            # Whether the first try was committed nobody knows: rows found there prove nothing.
            self._excused += len(rows)
        self.committed += len(rows)
        self.db_had += len(rows) - inserted
        self._to_ack.extend(reply for _, reply, _ in rows)
        self._record_commit(rows)

    def _read_ahead(self, reader: PullReader, stop: threading.Event) -> None:
        """While the database works on one batch, acknowledge the last and make the rows of the next."""
        if self._lost is not None:
            return
        try:
            self._send_acks(reader)
            if stop.is_set() or len(self._pending) >= self._settings.batch_size_rows:
                return
            batch = reader.read(0.0)
            if len(batch):
                self._take(batch)
        except ConnectionLost as error:
            self._lost = error  # the database's answer comes first

    def _on_trouble(self, error: Exception) -> None:
        if self._trouble is None:
            self._trouble = (f"database: {error}", self._clock.now_ns())

    def _record_commit(self, rows: list[_PendingRow]) -> None:
        now_ns = self._clock.now_ns()
        if self._phases.measuring(now_ns):
            ends_ms = np.array([end_ms for _, _, end_ms in rows], np.int64)
            self.commit_latency.record(self._clock.epoch_ns(now_ns) // 1000 - ends_ms * 1000)
