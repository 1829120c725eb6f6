"""Publishing a workload: dimensions as fast as they go, then every topic by its schedule, open-loop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.clock import RunClock
from bench.driverbench.ours import check_published, run_to_end
from bench.joins.frames import TopicFrames
from bench.joins.rows import ahead_count, row_count
from bench.joins.streams import stream_of
from bench.joins.workload import Workload
from bench.producer import WINDOWED_TICK_S, Producer
from bench.schedule import ConstantRate, Schedule, Unpaced
from bench.wire.connection import Connection
from bench.worker import Worker

Connect = Callable[[str], Connection]
PATIENCE_S = 120.0
#: From the call to the first row: all producers are connected by then.
LEAD_NS = 300_000_000


@dataclass(frozen=True)
class Published:
    """What the producers did, all topics together."""

    rows: int
    sent: int
    acked: int
    refused: int
    republished: int
    slip_ms_p99: float | None
    #: By the clock of the wall: fact n is due at this + (n − 1) / rate.
    start_epoch_ns: int
    facts_per_s: int
    elapsed_s: float


def publish_ahead(connect: Connect, workload: Workload, everything: bool = False) -> int:
    """What is there before the first fact is due, or all there is; returns the number of rows."""
    clock, rows = RunClock(), 0
    for topic in workload.topics:
        total = row_count(workload, topic) if everything else ahead_count(workload, topic)
        if total:
            producer = _producer(connect, workload, topic, 1, total, Unpaced(clock.now_ns()), clock)
            run_to_end(producer, PATIENCE_S)
            check_published(producer)
            rows += total
    return rows


class LivePublisher:
    """Every topic by a producer of its own; `start` returns at once."""

    def __init__(self, connect: Connect, workload: Workload, rows_per_s: int) -> None:
        self._clock = RunClock()
        self.facts_per_s = facts_per_s(workload, rows_per_s)
        self._start_ns = self._clock.now_ns() + LEAD_NS
        self._producers: list[Producer] = []
        for topic, rate in topic_rates(workload, self.facts_per_s).items():
            first = ahead_count(workload, topic) + 1
            total = row_count(workload, topic) - first + 1
            schedule = ConstantRate(self._start_ns, rate)
            self._producers.append(_producer(connect, workload, topic, first, total, schedule, self._clock))
        self._workers = [Worker("producer", one.run, urgent=True) for one in self._producers]

    @property
    def rows(self) -> int:
        return sum(producer.total for producer in self._producers)

    @property
    def sent(self) -> int:
        return sum(producer.sent for producer in self._producers)

    @property
    def acked(self) -> int:
        return sum(producer.acked for producer in self._producers)

    @property
    def start_ns(self) -> int:
        return self._start_ns

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    @property
    def running(self) -> bool:
        for worker in self._workers:
            worker.check()
        return any(worker.alive for worker in self._workers)

    def stop(self) -> None:
        """However it goes on, no producer does."""
        for worker in self._workers:
            if worker.started:
                worker.join(PATIENCE_S)

    def ended(self) -> Published:
        while self.running:
            time.sleep(0.01)
        slips = [producer.slip.total.percentile_us(99) for producer in self._producers]
        told = [slip for slip in slips if slip is not None]
        return Published(
            self.rows,
            self.sent,
            self.acked,
            sum(producer.refused_count for producer in self._producers),
            sum(producer.republished for producer in self._producers),
            max(told) / 1000 if told else None,
            self._clock.epoch_ns(self._start_ns),
            self.facts_per_s,
            (self._clock.now_ns() - self._start_ns) / 1e9,
        )


def live_rows(workload: Workload, topic: str) -> int:
    return row_count(workload, topic) - ahead_count(workload, topic)


def facts_per_s(workload: Workload, rows_per_s: int) -> int:
    """All topics together make the rate that was asked for."""
    rows = sum(live_rows(workload, topic) for topic in workload.topics)
    return max(1, round(rows_per_s * live_rows(workload, workload.fact) / rows))


def topic_rates(workload: Workload, per_s: int) -> Mapping[str, int]:
    """Each topic takes as long as the facts do."""
    facts = live_rows(workload, workload.fact)
    rates = {topic: -(-per_s * live_rows(workload, topic) // facts) for topic in workload.topics}
    return {topic: rate for topic, rate in rates.items() if rate}


def _producer(
    connect: Connect,
    workload: Workload,
    topic: str,
    first: int,
    total: int,
    schedule: Schedule,
    clock: RunClock,
) -> Producer:
    frames = TopicFrames(workload, topic, first, total, f"_INBOX.{secrets.token_hex(4)}")
    return Producer(
        connect,
        frames,
        schedule,
        clock,
        run_id="joins",
        total=total,
        inbox=frames.inbox,
        stream=stream_of(topic),
        heartbeats=False,
        tick_s=WINDOWED_TICK_S,
    )
