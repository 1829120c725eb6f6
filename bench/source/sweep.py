"""Fetch batch × linger × partitions through Spark's source: what batching gives, and what it adds in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from statistics import median, median_low
from typing import Any

from bench.gates import Gate, GateReport, evaluate
from bench.source.backlog import Backlog
from bench.source.spark_engine import SparkSource
from bench.source.truth import kept_totals
from bench.source.turn import JETSTREAM
from spark_jobs.jetstream.options import SourceOptions

FETCH_BATCHES = (1, 16, 64, 256, 1_024, 4_096)
LINGERS_MS = (0, 1, 5, 20)
PARTITIONS = (1, 2, 4)
#: Two turns of the same cell differ by about as much on a machine that others use too.
NOISE = 0.1
#: An event at a time must cost at least this factor, or the sweep did not measure what it is about.
LEAST_COLLAPSE = 10.0


@dataclass(frozen=True)
class Cell:
    fetch_batch: int
    linger_ms: int
    partitions: int

    @property
    def is_default(self) -> bool:
        return (self.fetch_batch, self.linger_ms) == (SourceOptions.fetch_batch, SourceOptions.linger_ms)

    @property
    def name(self) -> str:
        return f"{self.fetch_batch} × {self.linger_ms} ms × {self.partitions}"

    def options(self) -> dict[str, str]:
        return {
            "fetchBatch": str(self.fetch_batch),
            "lingerMs": str(self.linger_ms),
            "minPartitions": str(self.partitions),
        }


def default_cell(partitions: int) -> Cell:
    return Cell(SourceOptions.fetch_batch, SourceOptions.linger_ms, partitions)


def all_cells() -> list[Cell]:
    swept = [Cell(*one) for one in product(FETCH_BATCHES, LINGERS_MS, PARTITIONS)]
    return [*(cell for cell in map(default_cell, PARTITIONS) if cell not in swept), *swept]


def few_cells(tasks: int) -> list[Cell]:
    """An event at a time, the seed's cure, and what we do."""
    return [Cell(1, 0, tasks), Cell(256, 5, tasks), default_cell(tasks)]


@dataclass(frozen=True)
class Point:
    cell: Cell
    events: int
    chunks: int
    events_per_s: float
    #: What the first event of a chunk waits for the others, in the source.
    held_ms_p50: float
    held_ms_p99: float
    wrong_count: int
    wrong_sum: int

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.cell.name, "default": self.cell.is_default, **asdict(self)}


@dataclass(frozen=True)
class Size:
    #: Events where they come one at a time, in proportion more where they come in batches.
    one_by_one: int
    #: One turn of half a second says little of a cell: a pause of the server halves its rate.
    passes: int


def run_sweep(
    spark: SparkSource,
    backlog: Backlog,
    cells: Sequence[Cell],
    size: Size,
    show: Callable[[str], None],
) -> Iterator[list[Point]]:
    """What is known by then: all cells, then all again, so that a bad minute hits no cell alone."""
    turns: dict[Cell, list[Point]] = {cell: [] for cell in cells}
    for number in range(size.passes * len(cells)):
        cell = cells[number % len(cells)]
        events = min(backlog.events, size.one_by_one * cell.fetch_batch)
        turns[cell].append(measure(spark, backlog, cell, events))
        rate = turns[cell][-1].events_per_s
        show(f"sweep {number + 1} of {size.passes * len(cells)}, {cell.name}: {rate:,.0f} events/s")
        yield [middle(points) for points in turns.values() if points]


def middle(turns: Sequence[Point]) -> Point:
    """The medians of a cell; what was wrong in any of its turns stays wrong."""
    return replace(
        turns[0],
        chunks=median_low(turn.chunks for turn in turns),
        events_per_s=median(turn.events_per_s for turn in turns),
        held_ms_p50=median(turn.held_ms_p50 for turn in turns),
        held_ms_p99=median(turn.held_ms_p99 for turn in turns),
        wrong_count=sum(turn.wrong_count for turn in turns),
        wrong_sum=sum(turn.wrong_sum for turn in turns),
    )


def measure(spark: SparkSource, backlog: Backlog, cell: Cell, events: int) -> Point:
    first = backlog.first_of_last(events)
    turn = spark.play(backlog, JETSTREAM, "filter", {**cell.options(), "startingOffset": str(first)})
    truth, source = kept_totals(first, backlog.events), turn.detail["source"]
    return Point(
        cell,
        turn.events,
        source["chunks"],
        turn.events_per_s,
        source["held_ms_p50"],
        source["held_ms_p99"],
        abs(turn.count - truth.count),
        abs(turn.sum_value - truth.sum_value),
    )


def front(points: Sequence[Point]) -> list[Point]:
    """Those that no other beats in both speed and time held, from the shortest time on."""
    ranked = sorted(points, key=lambda point: (point.held_ms_p99, -point.events_per_s))
    kept: list[Point] = []
    for point in ranked:
        if not kept or point.events_per_s > kept[-1].events_per_s:
            kept.append(point)
    return kept


def beaten_by(points: Sequence[Point], one: Point) -> list[Point]:
    """Cells that hold events no longer and are faster by more than the noise."""
    return [
        point
        for point in points
        if point.held_ms_p99 <= one.held_ms_p99 and point.events_per_s > one.events_per_s * (1 + NOISE)
    ]


SWEEP_GATES = (
    Gate("wrong_count", "==", 0, "every cell reads every event once"),
    Gate("wrong_sum", "==", 0, "and its own value"),
)
#: At full size too.
SHAPE_GATES = (
    Gate("default_beaten_by", "==", 0, f"the default sits on the front, within {NOISE:.0%}"),
    Gate("collapse", ">=", LEAST_COLLAPSE, "an event at a time is the collapse that batching cures"),
)


def judge_sweep(points: Sequence[Point], partitions: int, full: bool) -> GateReport:
    return evaluate((*SWEEP_GATES, *SHAPE_GATES) if full else SWEEP_GATES, sweep_metrics(points, partitions))


def sweep_metrics(points: Sequence[Point], partitions: int) -> dict[str, float | int | None]:
    alone = [p.events_per_s for p in points if p.cell.fetch_batch == 1 and p.cell.partitions == partitions]
    ours = [point for point in points if point.cell == default_cell(partitions)]
    return {
        "wrong_count": sum(point.wrong_count for point in points),
        "wrong_sum": sum(point.wrong_sum for point in points),
        "one_by_one_per_s": max(alone, default=None),
        "default_per_s": ours[0].events_per_s if ours else None,
        "collapse": ours[0].events_per_s / max(alone) if ours and alone else None,
        "default_beaten_by": len(beaten_by(points, ours[0])) if ours else None,
    }
