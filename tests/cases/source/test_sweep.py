"""Batching at the consumer: what it gives, what it adds in time, the collapse without it; how cost grows."""

from __future__ import annotations

import pytest

from bench.source.growth import FULL_STEPS, SMOKE_STEPS, climb
from bench.source.sweep import (
    PARTITIONS,
    Cell,
    Size,
    all_cells,
    default_cell,
    few_cells,
    judge_sweep,
    run_sweep,
)
from bench.source.turn import JETSTREAM
from bench.sparkbench.preload import TASKS
from spark_jobs.window_aggregate import source_tasks

pytestmark = pytest.mark.source

DEFAULT_TASKS = source_tasks(TASKS)

SMOKE_EVENTS, FULL_EVENTS = 20_000, 200_000
SMOKE, FULL = Size(one_by_one=1_000, passes=1), Size(one_by_one=2_000, passes=3)
WARM_TURNS = 10
WARM_TURNS_OF_PARTITIONS = 2


def test_the_sweep(spark, backlogs, book, full, show):
    """A default that others beat, or a source that dispatches each event by itself, would go unseen."""
    backlog = backlogs.of(FULL_EVENTS if full else SMOKE_EVENTS)
    cells = all_cells() if full else few_cells(DEFAULT_TASKS)
    if full:
        _warm(spark, backlog)
    for points in run_sweep(spark, backlog, cells, FULL if full else SMOKE, show):
        book.points = points
        book.write()
    book.sweep = judge_sweep(book.points, DEFAULT_TASKS, full)
    by_cell = {point.cell: point for point in book.points}
    alone, ours = by_cell[Cell(1, 0, DEFAULT_TASKS)], by_cell[default_cell(DEFAULT_TASKS)]
    # Two requests are in flight, so an event at a time is at most two a chunk: this is what collapses.
    assert alone.events <= 2 * alone.chunks
    assert ours.events > 10 * ours.chunks
    book.sweep.raise_unless_pass()


def _warm(spark, backlog) -> None:
    """The first cell must not pay for the JVM's compiler, nor the first of each number of partitions for the
    start of its Python workers.
    """
    spark.rehearse(backlog, "filter")
    for _ in range(WARM_TURNS):
        spark.play(backlog, JETSTREAM, "filter")
    for partitions in PARTITIONS:
        for _ in range(WARM_TURNS_OF_PARTITIONS):
            spark.play(backlog, JETSTREAM, "filter", default_cell(partitions).options())


def test_growth(spark, backlogs, book, full, show):
    """A source whose cost grows faster than its backlog would pass every test of one size."""
    steps = FULL_STEPS if full else SMOKE_STEPS
    book.growth = climb(spark, backlogs, steps, show)
    book.write()
    assert [row.exact for row in book.growth] == [True] * len(steps)
    assert all(row.spark_cpu_s_per_million > 0 for row in book.growth)
