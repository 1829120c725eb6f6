"""What a task of the source tells of its time, and what the job makes of Spark's own account."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from spark_jobs.jetstream.timings import Stopwatch, read_timings
from spark_jobs.orders import asked
from spark_jobs.source_turns import Order, _totals


def chunks(sizes):
    for size in sizes:
        arrived = np.full(size, time.monotonic_ns() - 5_000_000, np.int64)
        yield SimpleNamespace(seqs=np.arange(size), batch=SimpleNamespace(arrived_ns=arrived))


def rows_of(watch, chunks):
    yield from map(watch.taking(lambda chunk: len(chunk.seqs)), chunks)


def test_rows_pass_unchanged_and_their_time_is_told(tmp_path):
    """Measuring would change what is read, or tell the time of some tasks only."""
    watch = Stopwatch(str(tmp_path))
    for sizes in ([3, 2], [5]):
        assert list(watch.task(rows_of(watch, chunks(sizes)))) == sizes
    told = read_timings(tmp_path)
    assert (told.rows, told.chunks) == (10, 3)
    assert told.held_ms_p99 >= told.held_ms_p50 >= 5
    assert all(seconds >= 0 for seconds in told.cpu_s.values())


def test_the_cpu_of_a_thread_that_reads_ahead_is_told_too(tmp_path):
    """The dearest part of the source would be missing from its account."""
    watch = Stopwatch(str(tmp_path))

    def parse(chunk):
        until_s = time.thread_time() + 0.05
        while time.thread_time() < until_s:
            pass
        return len(chunk.seqs)

    read = []
    thread = threading.Thread(target=lambda: read.extend(map(watch.taking(parse), chunks([4, 4]))))
    thread.start()
    thread.join()
    assert list(watch.task(size for size in read)) == [4, 4]
    told = read_timings(tmp_path)
    assert told.rows == 8
    assert told.cpu_s["parse"] >= 0.1


def test_a_task_that_spark_ends_early_ends_its_read(tmp_path):
    """What is on its way to an abandoned task would meet the next one's range."""
    ended = []

    def source():
        try:
            yield from (1, 1, 1)
        finally:
            ended.append(True)

    reading = Stopwatch(str(tmp_path)).task(source())
    next(reading)
    reading.close()
    assert ended == [True]


def test_a_batch_without_rows_changes_no_total():
    """The empty batch that closes the last windows would make the sums null, or the first window's end 0."""
    observed = [
        {"count": 2, "sum_value": 7, "first_end_ms": 100, "last_end_ms": 200},
        {"count": None, "sum_value": None, "first_end_ms": None, "last_end_ms": None},
        {"count": 1, "sum_value": 3, "first_end_ms": 150, "last_end_ms": 300},
    ]
    totals = _totals(iter(observed))
    assert totals == {"count": 3, "sum_value": 10, "first_end_ms": 100, "last_end_ms": 300}


@pytest.mark.parametrize("torn", ["", '{"mode": "fil'])
def test_orders_are_read_when_they_are_whole(tmp_path, torn):
    """An order that is being written would be a crash of the job."""
    path = tmp_path / "orders"
    line = (
        '{"mode": "files", "pipeline": "filter", "run_id": "r", "stream": "S", "folder": "f", '
        '"batch_rows": 1, "files_per_trigger": 1}\n'
    )
    path.write_text(line + torn)
    told = asked(path)
    assert Order(**next(told)) == Order("files", "filter", "r", "S", "f", 1, 1)
    path.write_text(line + '{"end": true}\n')
    assert list(told) == []
