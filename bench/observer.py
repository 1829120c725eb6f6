"""Case A's observer: reads `events.*` and accounts for every event, once, with its latency.

Latency counts from the event's intended time to the moment its last byte had been read here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from bench.clock import RunClock
from bench.contract.event import decode_event
from bench.latency import LatencyRecorder
from bench.outage import OutageLog
from bench.patient_reader import reopened
from bench.phases import PhasedRecorder, Phases
from bench.publish_frames import SEQ_LABEL, EventLayout
from bench.schedule import Ints, Schedule
from bench.seqset import SeqLedger
from bench.wire.batch import Batch, matches, numbers_before
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost
from bench.wire.frames import Flags
from bench.wire.pull import PullReader, delivery_of, stored_ns

#: Reading goes on for this long after the first byte, so that parsing is paid for once per many;
#: arrivals are stamped as the bytes come, so no latency is added to what is measured.
LINGER_S = 0.02
ACK_EVERY_S = 0.05
RECONNECT_S = 30.0


class EventObserver:
    """Reads a pull consumer whose ack policy is `all`."""

    def __init__(
        self,
        connect: Callable[[str], Connection],
        stream: str,
        consumer: str,
        layout: EventLayout,
        schedule: Schedule,
        clock: RunClock,
        phases: Phases,
        *,
        run_id: str,
        total: int,
        late_after_s: float,
        fetch_batch: int = 2000,
        linger_s: float = LINGER_S,
    ) -> None:
        self._connect = connect
        self._stream, self._consumer = stream, consumer
        self._fetch_batch = fetch_batch
        self._linger_s = linger_s
        self._layout = layout
        self._schedule = schedule
        self._clock = clock
        self._run_id = run_id
        self.ledger = SeqLedger(total)
        self.latency = PhasedRecorder(phases, late_after_s)
        self.to_stored = LatencyRecorder()
        self.from_stored = LatencyRecorder()
        self.received = 0
        self.foreign = 0
        self.redelivered = 0
        self.outage_log = OutageLog("observer", clock, phases.start_ns)
        self._phases = phases
        self._last_stream_seq = 0
        self._gap: set[int] = set()
        self._unacked: bytes = b""
        self._acked_at = time.monotonic()

    @property
    def max_seq(self) -> int:
        return self.ledger.max_seq

    def run(self, stop: threading.Event) -> None:
        reader = self._open()
        try:
            while not stop.is_set():
                try:
                    batch = reader.read(0.05, self._linger_s)
                    if len(batch):
                        self._take(batch)
                    self._ack(reader)
                except ConnectionLost as error:
                    reader.connection.close()
                    reader = self.outage_log.reopen(self._open, error, stop, RECONNECT_S)
            self._ack(reader, now=True)
        finally:
            reader.connection.close()

    def _open(self) -> PullReader:
        return reopened(self._connect("observer"), self._stream, self._consumer, self._fetch_batch)

    # -- one batch -------------------------------------------------------------

    def _take(self, batch: Batch) -> None:
        self.received += len(batch)
        self._watch_for_gap(batch)
        seqs, arrived_ns = self._seqs(batch)
        if not len(seqs):
            return
        again = self.ledger.seen_before(seqs)
        if again.any():
            seqs, arrived_ns = self._without_redelivered(batch, seqs, arrived_ns, again)
        self.ledger.mark(seqs)
        intended = self._schedule.intended_ns(seqs)
        self.latency.record(intended, (arrived_ns - intended) // 1000)
        if len(seqs) == len(batch):
            self._record_hops(batch, intended, arrived_ns)

    def _seqs(self, batch: Batch) -> tuple[Ints, Ints]:
        """The seq of each event of this run, by position where the layout is ours, else by parsing."""
        data, bodies, layout = batch.data, batch.body_starts, self._layout
        ours = (batch.body_ends - bodies == layout.payload_bytes) & (len(batch.index.header_sizes) == 0)
        if ours.all():
            ours = matches(data, bodies, layout.start) & matches(data, bodies + layout.label_at, SEQ_LABEL)
        if not ours.all():
            return self._parsed(batch)
        ends = bodies + (layout.seq_at + layout.seq_width)
        return numbers_before(data, ends, layout.seq_width), batch.arrived_ns

    def _parsed(self, batch: Batch) -> tuple[Ints, Ints]:
        seqs: list[int] = []
        rows: list[int] = []
        for i in range(len(batch)):
            try:
                event = decode_event(batch.payload(i))
            except ValueError:
                self.foreign += 1
                continue
            if event.run_id != self._run_id:
                self.foreign += 1
                continue
            seqs.append(event.seq)
            rows.append(i)
        return np.array(seqs, np.int64), batch.arrived_ns[rows]

    def _without_redelivered(
        self, batch: Batch, seqs: Ints, arrived_ns: Ints, again: Flags
    ) -> tuple[Ints, Ints]:
        """JetStream delivers again what was not acknowledged (after a reconnect, say): that is its
        promise, not a duplicate. A duplicate is the same event stored twice."""
        if len(seqs) != len(batch):
            return seqs, arrived_ns
        redelivered = np.array([again[i] and delivery_of(batch.reply(i))[0] > 1 for i in range(len(batch))])
        self.redelivered += int(redelivered.sum())
        return seqs[~redelivered], arrived_ns[~redelivered]

    def _record_hops(self, batch: Batch, intended: Ints, arrived_ns: Ints) -> None:
        if not self._phases.measuring(int(intended[0])):
            return
        stored = stored_ns(batch) - self._clock.epoch_offset_ns
        self.to_stored.record((stored - intended) // 1000)
        self.from_stored.record((arrived_ns - stored) // 1000)

    # -- acknowledging -----------------------------------------------------------

    def _watch_for_gap(self, batch: Batch) -> None:
        """Notice messages that were under way when a connection broke.

        To acknowledge a later one (policy `all`) would acknowledge them too, and they would never
        come again: so no ack until each has been seen.
        """
        first = delivery_of(batch.reply(0))[1]
        if first > self._last_stream_seq + 1 and self._last_stream_seq:
            self._gap.update(range(self._last_stream_seq + 1, first))
        if self._gap:
            seen = [delivery_of(batch.reply(i))[1] for i in range(len(batch))]
            self._gap.difference_update(seen)
            last = max(seen)
        else:
            last = delivery_of(batch.reply(len(batch) - 1))[1]
        if last > self._last_stream_seq:
            self._last_stream_seq = last
            self._unacked = batch.reply(len(batch) - 1)

    def _ack(self, reader: PullReader, now: bool = False) -> None:
        due = now or time.monotonic() - self._acked_at >= ACK_EVERY_S
        if self._unacked and due and not self._gap:
            reader.ack(self._unacked)
            self._unacked = b""
            self._acked_at = time.monotonic()
