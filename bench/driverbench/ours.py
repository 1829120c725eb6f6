"""Our producer and observer, each alone and as fast as it can."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.clock import RunClock
from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.stopwatch import Stopwatch
from bench.observer import EventObserver
from bench.phases import Phases
from bench.producer import Producer
from bench.publish_frames import EventFrames, EventLayout, FrameShape, MockResultFrames
from bench.schedule import Schedule, Unpaced
from bench.wire.pull import AckPolicy
from bench.worker import Worker

RUN_ID = "d"
PATIENCE_S = 60.0
POLL_S = 0.002


@dataclass(frozen=True)
class Spent:
    """What a turn cost; the caller knows who took it."""

    elapsed_s: float
    client_cpu_s: float
    process_cpu_s: float
    server_cpu_s: float
    #: What was moved meanwhile, where that is not all of it: start-up may lie before.
    messages: int | None = None


@dataclass(frozen=True)
class Load:
    messages: int
    payload_bytes: int = 512
    partitions: int = 16
    num_keys: int = 20_000

    def shape(self) -> FrameShape:
        subjects = tuple(f"driver.{p}" for p in range(self.partitions))
        return FrameShape(RUN_ID, self.messages, self.num_keys, subjects, f"_INBOX.{secrets.token_hex(4)}")

    def layout(self) -> EventLayout:
        return EventFrames(self.shape(), self.payload_bytes).layout


def make_producer(broker: Broker, load: Load, schedule: Schedule, clock: RunClock, mock: bool) -> Producer:
    shape = load.shape()
    frames = MockResultFrames(shape) if mock else EventFrames(shape, load.payload_bytes)
    return Producer(
        broker.connect,
        frames,
        schedule,
        clock,
        run_id=RUN_ID,
        total=load.messages,
        inbox=shape.inbox,
        stream=STREAM,
        heartbeats=False,
    )


def make_observer(
    broker: Broker, consumer: str, load: Load, schedule: Schedule, clock: RunClock
) -> EventObserver:
    # Everything counts as measured, so that all of the recording is paid for.
    phases = Phases(schedule.start_ns, schedule.start_ns, 2**62)
    return EventObserver(
        broker.connect,
        STREAM,
        consumer,
        load.layout(),
        schedule,
        clock,
        phases,
        run_id=RUN_ID,
        total=load.messages,
        late_after_s=PATIENCE_S,
    )


def publish(broker: Broker, load: Load, mock: bool = False) -> Spent:
    """Every message is acknowledged, and every acknowledgement checked, or this raises TurnFailed."""
    clock = RunClock()
    producer = make_producer(broker, load, Unpaced(clock.now_ns()), clock, mock)
    watch = Stopwatch(broker.cpu_s)
    worker = run_to_end(producer)
    watch.stop()
    check_published(producer)
    return Spent(watch.elapsed_s, worker.cpu_s, watch.process_cpu_s, watch.server_cpu_s)


def run_to_end(producer: Producer, patience_s: float = PATIENCE_S) -> Worker:
    """In a thread of its own, whose CPU time the caller may want."""
    worker = Worker("producer", producer.run)
    worker.start()
    wait_for(worker, lambda: not worker.alive, patience_s)
    return worker


def observe(broker: Broker, load: Load, ack_policy: AckPolicy) -> Spent:
    clock = RunClock()
    with broker.reader(ack_policy) as consumer:
        observer = make_observer(broker, consumer, load, Unpaced(clock.now_ns()), clock)
        worker = Worker("observer", observer.run)
        watch = Stopwatch(broker.cpu_s)
        worker.start()
        wait_for(worker, lambda: observer.ledger.seen >= load.messages, PATIENCE_S)
        watch.stop()
        worker.join(PATIENCE_S)
    check_observed(observer)
    return Spent(watch.elapsed_s, worker.cpu_s, watch.process_cpu_s, watch.server_cpu_s)


def wait_for(worker: Worker, done: Callable[[], bool], timeout_s: float) -> None:
    """Until `done`; what the worker raised is raised here."""
    deadline = time.monotonic() + timeout_s
    while not done():
        worker.check()
        if time.monotonic() > deadline or not worker.alive:
            worker.join(timeout_s)
            worker.check()
            if done():
                return
            raise TurnFailed(f"the {worker.name} was not done after {timeout_s:g} s")
        time.sleep(POLL_S)
    worker.check()


def check_published(producer: Producer) -> None:
    if producer.acked != producer.total or producer.republished or producer.outage_log.outages:
        raise TurnFailed(
            f"of {producer.total} messages {producer.acked} were acknowledged, "
            f"{producer.refused_count} refused, {producer.republished} published again"
        )


def check_observed(observer: EventObserver) -> None:
    ledger = observer.ledger
    if ledger.missing_count or ledger.duplicates or observer.foreign or observer.redelivered:
        raise TurnFailed(
            f"of {ledger.expected} messages {ledger.missing_count} were not seen, "
            f"{ledger.duplicates} twice, {observer.foreign} were not ours"
        )
