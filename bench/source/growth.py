"""How the cost of the source path grows: with the backlog, and with the size of an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.source.backlog import Backlog, Backlogs
from bench.source.spark_engine import SparkSource
from bench.source.truth import kept_totals
from bench.source.turn import JETSTREAM


@dataclass(frozen=True)
class Step:
    events: int
    payload_bytes: int = 512


FULL_STEPS = (
    *(Step(events) for events in (10_000, 50_000, 200_000, 500_000, 1_000_000, 2_000_000)),
    *(Step(200_000, size) for size in (128, 1_024, 4_096)),
)
SMOKE_STEPS = (Step(2_000), Step(2_000, 2_048))


@dataclass(frozen=True)
class Growth:
    events: int
    payload_bytes: int
    batches: int
    events_per_s: float
    bytes_per_s: float
    spark_cpu_s_per_million: float
    server_cpu_s_per_million: float
    exact: bool


def climb(
    spark: SparkSource, backlogs: Backlogs, steps: Sequence[Step], show: Callable[[str], None]
) -> list[Growth]:
    grown = []
    for step in steps:
        show(f"a backlog of {step.events:,} events of {step.payload_bytes:,} B")
        grown.append(_measure(spark, backlogs.of(step.events, step.payload_bytes), step))
    return grown


def _measure(spark: SparkSource, backlog: Backlog, step: Step) -> Growth:
    turn = spark.play(backlog, JETSTREAM, "filter")
    truth = kept_totals(1, step.events)
    return Growth(
        step.events,
        step.payload_bytes,
        turn.detail["batches"],
        turn.events_per_s,
        turn.events_per_s * step.payload_bytes,
        turn.engine_cpu_s / turn.events * 1e6,
        turn.server_cpu_s / turn.events * 1e6,
        (turn.count, turn.sum_value) == (truth.count, truth.sum_value),
    )
