"""The open-loop producer: sends each message at its intended time, and knows the fate of every one.

Goals: the schedule never waits for the system under test (what is late shows as slip); no message
is dropped in silence: each is acknowledged, refused (with the server's reason) or unanswered.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bench.clock import RunClock
from bench.contract.heartbeat import Heartbeat, encode_heartbeat
from bench.contract.names import HEARTBEAT_SUBJECT
from bench.fates import Fates, OpenGroup
from bench.fault.hold import Crashed, Hold
from bench.latency import LatencyRecorder
from bench.outage import OutageLog
from bench.publish_frames import PublishFrames, seq_range
from bench.schedule import Ints, Schedule, Unpaced
from bench.tickets import BEAT
from bench.wire.api import stored_payload
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost
from bench.wire.frames import Flags
from bench.wire.pubacks import AnswerReader

#: Messages of one burst are at most this late by design; shorter costs CPU for wake-ups.
TICK_S = 0.001
#: Where latency counts from a window's end, a burst may be longer: at 60,000/s nats-server used 9 µs a
#: message instead of 11 (14 instead of 16 with a reader beside), the producer 1.7 instead of 2.7.
WINDOWED_TICK_S = 0.005
#: Answers are read this often: a read costs as much for one answer as for a hundred.
ANSWERS_EVERY_S = 0.02
#: With the window full, answers are let gather for this long; the server has the rest of it to work on.
BEHIND_S = 0.01
BUILD_AHEAD_NS = 50_000_000
#: Frames published and not yet answered: bounds what must be published again after a reconnect. With a
#: quarter of it the server ran dry between two of our looks: 209,000 messages/s unpaced instead of 246,000.
ACK_WINDOW = 32768
#: … and with a schedule what is due in this time: a server that pauses for less must not make us wait, or its
#: pause would show as our slip and not as its latency.
ACK_WINDOW_S = 2
#: Behind the schedule, at least this many are sent at a time: to fill every gap would mean tiny bursts.
_REFILL = 4096
RECONNECT_S = 30.0
ANSWER_TIMEOUT_S = 10.0
RETRY_AFTER_S = 0.2


def tick_s(windowed: bool) -> float:
    """How often the producer sends."""
    return WINDOWED_TICK_S if windowed else TICK_S


def ack_window(schedule: Schedule) -> int:
    """How many messages may be unanswered at a time."""
    return (
        ACK_WINDOW if isinstance(schedule, Unpaced) else max(ACK_WINDOW, ACK_WINDOW_S * schedule.rate_per_s)
    )


class Producer:
    """Publishes messages 1..total of `frames` by `schedule` and accounts for each answer."""

    def __init__(
        self,
        connect: Callable[[str], Connection],
        frames: PublishFrames,
        schedule: Schedule,
        clock: RunClock,
        *,
        run_id: str,
        total: int,
        inbox: str,
        stream: str,
        heartbeats: bool = True,
        tick_s: float = TICK_S,
    ) -> None:
        self._connect = connect
        self._frames = frames
        self._schedule = schedule
        self._ack_window = ack_window(schedule)
        self._tick_s = tick_s
        self._clock = clock
        self._run_id = run_id
        self.total = total
        self._inbox = inbox
        self._stream = stream
        self._fates = Fates(total)
        self._answers = AnswerReader(inbox, self._fates.tickets.width, stream)
        self._connection: Connection | None = None
        self._block = memoryview(b"")
        self._block_first = self._block_last = 0
        self._bursts: list[tuple[int, int]] = []
        self._retry_at = 0.0
        self._progress_at = time.monotonic()
        self._answers_due = 0.0
        self._unanswered_rounds = 0
        self._must_republish = False
        self._heartbeats = heartbeats
        self._beats = 0
        self._beat_sent = 0
        self.slip = LatencyRecorder()
        self.sent = 0
        self.republished = 0
        self.outage_log = OutageLog("producer", clock, schedule.start_ns)
        self.hold = Hold()

    # -- what became of the messages -----------------------------------------

    @property
    def acked(self) -> int:
        return self._fates.acked

    @property
    def settled(self) -> int:
        return self._fates.settled

    @property
    def unanswered(self) -> int:
        return self.sent - self.settled

    @property
    def acks(self) -> int:
        """Every one that has come: who looks for a sign of life need not wait for a whole group's."""
        return self._fates.acks

    @property
    def refused(self) -> Counter[str]:
        """How many, by JetStream's own words."""
        return self._fates.refused

    @property
    def refused_count(self) -> int:
        return self._fates.refused_count

    @property
    def deduplicated(self) -> int:
        return self._fates.deduplicated

    def acked_flags(self) -> Flags:
        return self._fates.acked_flags()

    # -- the loop ------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        try:
            self._connection = self._open()
            while self.settled < self.total and not stop.is_set():
                try:
                    self.hold.check(stop)
                    self._pump()
                except Crashed as crash:
                    self._begin_anew(crash, stop)
                except ConnectionLost as error:
                    self._recover(error, stop)
                if self._unanswered_rounds > 2:
                    return  # the run's gates tell of what stayed unanswered
            self._beat(final=True)
            self._record_slip()
        finally:
            if self._connection is not None:
                self._connection.close()

    def _open(self) -> Connection:
        connection = self._connect("producer")
        connection.send(f"SUB {self._inbox}.* 1\r\n".encode())
        return connection

    def _pump(self) -> None:
        if self._must_republish:
            self._publish_unanswered()
            self._must_republish = False
        due = min(self._schedule.due(self._clock.now_ns()), self.total)
        allowed = self.settled + self._ack_window
        if due <= allowed or allowed - self.sent >= _REFILL:
            self._send_up_to(min(due, allowed))
        self._beat()
        self._publish_refused()
        self._collect_answers()
        self._wait(behind=self.sent < due)

    def _collect_answers(self) -> None:
        now = time.monotonic()
        if now < self._answers_due and self.unanswered < _REFILL and self.sent < self.total:
            return
        self._answers_due = now + ANSWERS_EVERY_S
        if self._read_answers(0.0):
            self._progress_at = now
            self._unanswered_rounds = 0
        elif not self.unanswered:
            self._progress_at = now
        elif now - self._progress_at > ANSWER_TIMEOUT_S:
            self._publish_unanswered()

    def _wait(self, behind: bool) -> None:
        """Sleep a tick even when the next message is due sooner: bursts are what makes sending cheap."""
        if behind or self.sent >= self.total:
            time.sleep(BEHIND_S if self.unanswered >= _REFILL else self._tick_s)
            return
        ahead_s = (self._schedule.next_due_ns(self.sent) - self._clock.now_ns()) / 1e9
        time.sleep(min(max(ahead_s, self._tick_s), 0.05))

    def _send_up_to(self, target: int) -> None:
        while self.sent < target:
            if self.sent >= self._block_last:
                self._record_slip()
                self._build_block()
            first, last = self.sent, min(target, self._block_last)
            # Counted as sent before the first byte leaves: what a broken connection leaves
            # half-sent is then among the unanswered, which are published again.
            self.sent = last
            start, stop = ((at - self._block_first) * self._frames.width for at in (first, last))
            self._hand_over(self._block[start:stop])
            self._bursts.append((last - first, self._clock.now_ns()))

    def _build_block(self) -> None:
        """Make the frames of the next 50 ms at once: seq decides all of a frame, so it can be made early."""
        ahead = self._schedule.due(self._schedule.next_due_ns(self.sent) + BUILD_AHEAD_NS) - self.sent
        last = min(self.total, self.sent + max(1, min(ahead, self._frames.capacity)))
        seqs = seq_range(self.sent + 1, last)
        intended = self._schedule.intended_ns(seqs) + self._clock.epoch_offset_ns
        self._block = self._frames.build(seqs, intended, self._fates.tickets_for(seqs))
        self._block_first, self._block_last = self.sent, last

    def _record_slip(self) -> None:
        """Actual minus intended time of the bursts since the last call."""
        bursts, self._bursts = self._bursts, []
        if not bursts or isinstance(self._schedule, Unpaced):
            return
        counts, times = np.array(bursts, np.int64).T
        intended = self._schedule.intended_ns(seq_range(self.sent - int(counts.sum()) + 1, self.sent))
        self.slip.record((np.repeat(times, counts) - intended) // 1000)

    def _publish(self, seqs: Ints) -> None:
        """Publish given messages out of turn, each with a ticket of its own."""
        self._drop_block()  # the frames share one buffer
        for first in range(0, len(seqs), self._frames.capacity):
            part = seqs[first : first + self._frames.capacity]
            intended = self._schedule.intended_ns(part) + self._clock.epoch_offset_ns
            self._hand_over(self._frames.build(part, intended, self._fates.tickets.own(part)))

    def _drop_block(self) -> None:
        """What was built ahead will be built again."""
        self._record_slip()
        self._block_last = self.sent

    def _hand_over(self, view: memoryview) -> None:
        """Give all bytes to the kernel, reading answers meanwhile: else both sides could block."""
        connection = self._live()
        stalled_since = time.monotonic()
        while True:
            taken = connection.try_send(view)
            view = view[taken:]
            if not len(view):
                return
            # While the server takes data there is no need to look for answers: it would find a few only.
            if (connection.wait_writable(self._tick_s) and taken) or self._read_answers(0.0):
                stalled_since = time.monotonic()
            elif time.monotonic() - stalled_since > ANSWER_TIMEOUT_S:
                raise ConnectionLost(f"NATS took no data for {ANSWER_TIMEOUT_S:g} s")

    def _live(self) -> Connection:
        assert self._connection is not None
        return self._connection

    # -- answers -------------------------------------------------------------

    def _read_answers(self, timeout_s: float) -> int:
        connection = self._live()
        connection.fill(timeout_s)
        batch = connection.take()
        if not len(batch):
            return 0
        fates = self._fates
        before = fates.acks + fates.nacks
        fates.hear(self._answers.read(batch))
        return fates.acks + fates.nacks - before

    # -- trouble ---------------------------------------------------------------

    def _publish_refused(self) -> None:
        """What was refused for now, after a while."""
        fates = self._fates
        if not fates.mixed and not fates.refused_for_now:
            self._retry_at = time.monotonic() + RETRY_AFTER_S
            return
        if time.monotonic() < self._retry_at:
            return
        self._find_stored(fates.mixed)
        seqs = [np.array(fates.refused_for_now, np.int64)]
        seqs += [fates.unsettled(fates.tickets.members(group.number)) for group in fates.mixed]
        fates.mixed.clear()
        fates.refused_for_now.clear()
        self._publish(np.concatenate(seqs))

    def _find_stored(self, groups: Sequence[OpenGroup]) -> None:
        """Ask the stream which members of these groups were acknowledged, where to publish them again would
        double them.
        """
        places = [place for group in groups for place in group.stored_at]
        if not places or self._frames.message_ids:
            return
        connection = self._connect("producer-lookup")
        try:
            payloads = [stored_payload(connection, self._stream, place) for place in places]
        finally:
            connection.close()
        seqs = [self._frames.seq_of(one) for one in payloads if one]
        self._fates.settle(np.array([seq for seq in seqs if 0 < seq <= self.total], np.int64))

    def _publish_unanswered(self) -> None:
        self._find_stored(self._fates.open_groups())
        self._fates.end_groups(self.sent)
        seqs = self._fates.unsettled(seq_range(1, self.sent))
        self._progress_at = time.monotonic()
        self._unanswered_rounds += 1
        self.republished += len(seqs)
        self._publish(seqs)

    def _recover(self, error: ConnectionLost, stop: threading.Event) -> None:
        self._live().close()
        self._connection = self.outage_log.reopen(self._open, error, stop, RECONNECT_S)
        self._unanswered_rounds = 0
        self._must_republish = True

    def _begin_anew(self, crash: Crashed, stop: threading.Event) -> None:
        """As another process would that knows only what was acknowledged: the rest is published again."""
        lost_ns = self._clock.now_ns()
        self._live().close()
        self._drop_block()
        self.hold.wait(stop)
        self._connection = self._open()
        self._must_republish = True
        self.outage_log.note(str(crash), lost_ns)

    # -- heartbeat -------------------------------------------------------------

    def _beat(self, final: bool = False) -> None:
        """Publish `bench.prod` at every whole second of the run, and once at its end."""
        if not self._heartbeats:
            return
        now_ns = self._clock.now_ns()
        due = (now_ns - self._schedule.start_ns) // 1_000_000_000
        if due <= self._beats and not final:
            return
        rate = self.sent - self._beat_sent if not final else 0
        self._beats, self._beat_sent = due, self.sent
        body = encode_heartbeat(
            Heartbeat(self._run_id, self.sent, rate, self._clock.epoch_ns(now_ns) // 1_000_000)
        )
        reply = f"{self._inbox}.{BEAT:0{self._fates.tickets.width}d}"
        self._live().send(f"PUB {HEARTBEAT_SUBJECT} {reply} {len(body)}\r\n".encode() + body + b"\r\n")
