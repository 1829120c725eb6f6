"""Case C's observer: reads `results.<variant>.*` and keeps every row with the time it came.

Rows are few (one per key and window): they are parsed one by one, unlike case A's events.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import orjson

from bench.clock import RunClock
from bench.contract.names import FLUSH_KEY
from bench.contract.result import result_from_fields
from bench.latency import LatencyRecorder
from bench.outage import OutageLog
from bench.patient_reader import reopened
from bench.phases import PhasedRecorder, Phases
from bench.result_table import ResultRow, TableContent
from bench.stream_seqs import StreamSeqs
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost
from bench.wire.pull import PullReader, delivery_of, stored_ns

RECONNECT_S = 30.0
#: A window's results come all at once. They are read first, and stamped as their bytes come, and parsed when
#: there are no more for a while: to parse in between would be counted as the engine's delay (20,000 rows
#: were 0.3 s).
FETCH_BATCH = 10_000
GATHER_S = 0.25
GATHER_BYTES = 8 * 1024 * 1024


class ResultObserver:
    """Reads a pull consumer with explicit acks."""

    def __init__(
        self,
        connect: Callable[[str], Connection],
        stream: str,
        consumer: str,
        clock: RunClock,
        phases: Phases,
        *,
        run_id: str,
        late_after_s: float,
    ) -> None:
        self._connect = connect
        self._stream, self._consumer = stream, consumer
        self._clock = clock
        self._phases = phases
        self._run_id = run_id
        self._received = StreamSeqs()
        self._rows: list[ResultRow] = []
        self.latency = PhasedRecorder(phases, late_after_s)
        self.to_stored = LatencyRecorder()
        self.from_stored = LatencyRecorder()
        self.received = 0
        self.redelivered = 0
        self.malformed = 0
        self.foreign = 0
        self.counted = 0  # events that the rows stand for
        self.max_seq = 0
        self.outage_log = OutageLog("observer", clock, phases.start_ns)

    def run(self, stop: threading.Event) -> None:
        reader = self._open()
        try:
            while not stop.is_set():
                try:
                    batch = reader.read(0.05, GATHER_S, GATHER_BYTES)
                    if len(batch):
                        reader.ack_each(self._take(batch))
                except ConnectionLost as error:
                    reader.connection.close()
                    reader = self.outage_log.reopen(self._open, error, stop, RECONNECT_S)
        finally:
            reader.connection.close()

    def _open(self) -> PullReader:
        return reopened(self._connect("observer"), self._stream, self._consumer, FETCH_BATCH)

    def rows(self) -> TableContent:
        return TableContent.of_rows(self._rows)

    def _take(self, batch: Batch) -> list[bytes]:
        """Note the rows; returns the replies to acknowledge."""
        replies = [batch.reply(i) for i in range(len(batch))]
        stored = stored_ns(batch) - self._clock.epoch_offset_ns
        fresh: list[int] = []
        for i, reply in enumerate(replies):
            if not self._received.first_time(delivery_of(reply)[1]):
                self.redelivered += 1
            elif self._note(batch.payload(i), self._clock.epoch_ns(int(batch.arrived_ns[i])) // 1000):
                fresh.append(i)
        self.received += len(batch)
        if fresh:
            ends_ns = np.array([row[1] for row in self._rows[-len(fresh) :]], np.int64) * 1_000_000
            ends_ns -= self._clock.epoch_offset_ns
            arrived = batch.arrived_ns[fresh]
            self.latency.record(ends_ns, (arrived - ends_ns) // 1000)
            if self._phases.measuring(int(ends_ns[0])):
                self.to_stored.record((stored[fresh] - ends_ns) // 1000)
                self.from_stored.record((arrived - stored[fresh]) // 1000)
        return replies

    def _note(self, payload: bytes, arrived_us: int) -> bool:
        try:
            row = result_from_fields(orjson.loads(payload))
        except ValueError:
            self.malformed += 1
            return False
        if row.key == FLUSH_KEY:
            return False
        if row.run_id != self._run_id:
            self.foreign += 1
            return False
        self._rows.append(
            (row.key, row.window_end_ms, row.count, row.sum_value, row.seq, row.producer_ts_ms, arrived_us)
        )
        self.counted += row.count
        self.max_seq = max(self.max_seq, row.seq)
        return True
