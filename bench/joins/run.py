"""Runs a case: publish, join, wait until all that is due has come, read it back, judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.joins.batches import batch_lines
from bench.joins.case import JoinCase
from bench.joins.joined import read_joined
from bench.joins.ledger import due_epoch_ns
from bench.joins.outcome import JoinOutcome, Sample, Seen, closing_state, judge
from bench.joins.publishing import LivePublisher, publish_ahead
from bench.joins.recovery import recovery_of
from bench.joins.spark_engine import Change, SparkJoins
from bench.joins.streams import JOINED, JoinStreams
from bench.joins.truth import truth_of
from bench.settings import new_run_id

#: So long without a row more, and the ledger is made of what there is.
STALLED_S = 90.0
#: After the last row that was due: one too many must be seen.
SETTLE_S = 1.0
#: … and how long the state may take to let go of what has expired.
DRAIN_S = 15.0
_LOOK_S = 0.1
_SAMPLE_EVERY_S = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Kill:
    """kill -9 of the engine when this share of the rows has come, then a restart from the checkpoint."""

    at_share: float = 0.3


def run_case(
    engine: SparkJoins,
    streams: JoinStreams,
    case: JoinCase,
    say: Say,
    kill: Kill | None = None,
    change: Change | None = None,
    stalled_s: float = STALLED_S,
) -> JoinOutcome:
    workload = case.workload
    streams.make_topics(workload.topics)
    streams.make_joined()
    try:
        publish_ahead(streams.connect, workload, everything=not case.live)
        return _Run(engine, streams, case, say, kill, change, stalled_s).go()
    finally:
        streams.delete(workload.topics)


class _Run:
    def __init__(
        self,
        engine: SparkJoins,
        streams: JoinStreams,
        case: JoinCase,
        say: Say,
        kill: Kill | None,
        change: Change | None,
        stalled_s: float,
    ) -> None:
        self._engine, self._streams, self._case, self._say = engine, streams, case, say
        self._kill, self._change, self._stalled_s = kill, change, stalled_s
        self._truth = truth_of(case.workload)
        self._due = int(self._truth.emitted.sum())
        self._samples: list[Sample] = []
        self._publisher: LivePublisher | None = None
        self._killed_ns: int | None = None
        self._run_id = new_run_id("join")

    def go(self) -> JoinOutcome:
        case, engine = self._case, self._engine
        engine.start(case.workload, self._run_id, case.batch_rows, case.trigger_ms, self._change)
        began, cpu_s = time.monotonic(), self._cpu_s()
        try:
            if case.rows_per_s is not None:
                self._publisher = LivePublisher(self._streams.connect, case.workload, case.rows_per_s)
                self._publisher.start()
            self._watch(began)
            elapsed_s, cpu_s = time.monotonic() - began - SETTLE_S, self._cpu_s() - cpu_s
        finally:
            if self._publisher is not None:
                self._publisher.stop()
        published = self._publisher.ended() if self._publisher is not None else None
        engine.stop()
        joined = read_joined(self._streams, len(case.workload.lookups))
        lines = batch_lines(engine.progress(self._run_id))
        seen = Seen(joined, lines, self._samples, published, elapsed_s, cpu_s)
        recovery = None
        if self._killed_ns is not None and published is not None:
            start, rate = published.start_epoch_ns, published.facts_per_s
            due_ns = due_epoch_ns(case.workload, self._truth, start, rate)
            recovery = recovery_of(joined, due_ns, self._killed_ns, case.workload.facts)
        return replace(judge(case, seen, engine.tasks, recovery), run_id=self._run_id)

    def _watch(self, began: float) -> None:
        """Until all that is due has come and nothing more comes, or nothing has come for long."""
        count, moved, measured = -1, time.monotonic(), 0.0
        while True:
            self._engine.check()
            now, seen = time.monotonic(), self._streams.message_count(JOINED)
            if seen > count:
                count, moved = seen, now
            if now - measured >= _SAMPLE_EVERY_S:
                measured = now
                self._sample(now - began, count)
            if self._kill_when_due(count):
                moved = time.monotonic()  # a restart is no stall
            publishing = self._publisher is not None and self._publisher.running
            if not publishing and self._over(count, now - moved):
                return
            time.sleep(_LOOK_S)

    def _over(self, count: int, quiet_s: float) -> bool:
        if count < self._due:
            return quiet_s > self._stalled_s
        return quiet_s > DRAIN_S or (quiet_s > SETTLE_S and self._drained())

    def _drained(self) -> bool:
        """Whether the state has let go of all that can match no more."""
        if not self._case.workload.streaming:
            return True
        lines = batch_lines(self._engine.progress(self._run_id))
        return bool(lines) and lines[-1].state_rows <= closing_state(self._case.workload)

    def _sample(self, t_s: float, count: int) -> None:
        sent = self._publisher.sent if self._publisher is not None else 0
        self._samples.append(Sample(round(t_s, 2), sent, count, self._engine.memory_bytes()))
        self._say(f"{self._case.name}: {count:,} of {self._due:,} rows joined")

    def _kill_when_due(self, count: int) -> bool:
        if self._kill is None or self._killed_ns is not None or count < self._kill.at_share * self._due:
            return False
        self._killed_ns = time.time_ns()
        self._engine.kill()
        self._say(f"{self._case.name}: killed after {count:,} rows")
        self._engine.restart()
        return True

    def _cpu_s(self) -> float:
        usage = self._engine.meter()
        return usage.cpu_s if usage else 0.0
