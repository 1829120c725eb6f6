"""How our own cost grows: with the rate offered, the size of a message, the number of subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.clock import RunClock
from bench.driverbench.broker import Broker
from bench.driverbench.ours import (
    PATIENCE_S,
    Load,
    check_observed,
    check_published,
    make_observer,
    make_producer,
    wait_for,
)
from bench.driverbench.stopwatch import Stopwatch
from bench.latency import LatencySummary
from bench.schedule import ConstantRate
from bench.worker import Worker

_HEAD_START_NS = 100_000_000
STORAGE = "memory"


@dataclass(frozen=True)
class Step:
    """One point of one axis."""

    axis: str
    rate_per_s: int = 50_000
    payload_bytes: int = 512
    partitions: int = 16


STEPS = (
    *(Step("rate", rate_per_s=rate) for rate in (1_000, 10_000, 50_000, 100_000)),
    *(Step("payload", 10_000, payload_bytes=size) for size in (128, 512, 1_024, 4_096, 10_240)),
    # The contract has 16 partitions; more exist only here.
    *(Step("partitions", partitions=count) for count in (16, 64, 256)),
)


@dataclass(frozen=True)
class Growth:
    """Producer and observer at work together, as in case A."""

    axis: str
    rate_per_s: int
    payload_bytes: int
    partitions: int
    messages: int
    reached_per_s: float
    producer_cpu_s_per_million: float
    observer_cpu_s_per_million: float
    #: Of both threads together; 1 is a whole core.
    driver_cores: float
    server_cpu_s_per_million: float
    slip_ms_p99: float | None
    latency_ms_p99: float | None


def climb(broker: Broker, seconds: float, show: Callable[[str], None]) -> Iterator[Growth]:
    for step in STEPS:
        show(f"{step.rate_per_s:,}/s of {step.payload_bytes:,} B on {step.partitions} subjects")
        yield measure(broker, step, seconds)


def measure(broker: Broker, step: Step, seconds: float) -> Growth:
    load = Load(max(1, int(step.rate_per_s * seconds)), step.payload_bytes, step.partitions)
    broker.empty_stream(STORAGE)
    clock = RunClock()
    with broker.reader("all") as consumer:
        schedule = ConstantRate(clock.now_ns() + _HEAD_START_NS, step.rate_per_s)
        observer = make_observer(broker, consumer, load, schedule, clock)
        producer = make_producer(broker, load, schedule, clock, mock=False)
        workers = [
            Worker("observer", observer.run, urgent=True),
            Worker("producer", producer.run, urgent=True),
        ]
        watch = Stopwatch(broker.cpu_s)
        for worker in workers:
            worker.start()
        wait_for(workers[1], lambda: not workers[1].alive, seconds + PATIENCE_S)
        wait_for(workers[0], lambda: observer.ledger.seen >= load.messages, PATIENCE_S)
        watch.stop()
        elapsed_s = (clock.now_ns() - schedule.start_ns) / 1e9
        workers[0].join(PATIENCE_S)
    check_published(producer)
    check_observed(observer)
    observer_cpu_s, producer_cpu_s = (worker.cpu_s for worker in workers)
    return Growth(
        step.axis,
        step.rate_per_s,
        step.payload_bytes,
        step.partitions,
        load.messages,
        load.messages / elapsed_s,
        producer_cpu_s / load.messages * 1e6,
        observer_cpu_s / load.messages * 1e6,
        (producer_cpu_s + observer_cpu_s) / elapsed_s,
        watch.server_cpu_s / load.messages * 1e6,
        _p99_ms(producer.slip.total),
        _p99_ms(observer.latency.measure.total),
    )


def _p99_ms(latencies: LatencySummary) -> float | None:
    micros = latencies.percentile_us(99)
    return None if micros is None else micros / 1000
