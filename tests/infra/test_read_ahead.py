"""Reading ahead of a task, from a real server: the same events in the same order, held within bounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial

import psutil
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.infra.waiting import wait_until
from spark_jobs.jetstream import ahead as module
from spark_jobs.jetstream import source
from spark_jobs.jetstream.ahead import Guesses, ReadAhead
from spark_jobs.jetstream.columns import RowShape
from spark_jobs.jetstream.options import SourceOptions
from spark_jobs.jetstream.source import JetStreamReader
from spark_jobs.jetstream.ticks import Offset
from tests.jetstream_call import on_jetstream
from tests.stream_in_files import fill_in_files

pytestmark = pytest.mark.infra
EVENTS = 3_000
SCHEMA = StructType([StructField("n", LongType()), StructField("_seq", LongType())])


@pytest.fixture(scope="module")
def server() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        yield service


@pytest.fixture
def stored(server: LocalNats, request: pytest.FixtureRequest) -> Callable[..., SourceOptions]:
    """Makes a stream in files whose events say their own number; the options to read it."""

    def make(bad: int = 0, **options: str) -> SourceOptions:
        payloads = [b'{"n":%d}' % number if number != bad else b"{" for number in range(1, EVENTS + 1)]
        return fill_in_files(server.endpoint, f"S_{request.node.name}", payloads, **options)

    return make


def reading(options: SourceOptions, first: int, count: int, most_held: int) -> ReadAhead:
    return ReadAhead(options, first, count, most_held, partial(RowShape(SCHEMA, options).rows, floor_ms=0))


def test_it_reads_behind_whatever_else_is_to_do(stored):
    """On a busy machine it would take the cores that Spark needs to use what it reads."""
    before = {thread.id for thread in psutil.Process().threads()}
    ahead = reading(stored(), 1, 100, 500)
    list(ahead.rows(200, EVENTS + 1))
    new = [thread.id for thread in psutil.Process().threads() if thread.id not in before]
    assert module.NICENESS in [os.getpriority(os.PRIO_PROCESS, thread) for thread in new]
    assert os.getpriority(os.PRIO_PROCESS, os.getpid()) < module.NICENESS, "the whole process stepped back"
    ahead.stop()


def numbers(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [number for batch in batches for number in batch.column("n").to_pylist()]


def test_tasks_get_their_ranges_wherever_requests_end(stored):
    """A batch that lies across two ranges would be given twice, or half of it to nobody."""
    ahead = reading(stored(), 11, 70, 500)
    for first, end in ((11, 12), (12, 400), (400, 1_111), (1_111, 2_900)):
        assert ahead.position == first
        assert numbers(ahead.rows(end, 2_950)) == list(range(first, end))
    ahead.stop()


def test_no_more_is_held_than_allowed(stored):
    """A worker would take the whole backlog into its memory."""
    ahead = reading(stored(), 1, 100, 350)
    assert numbers(ahead.rows(200, EVENTS + 1)) == list(range(1, 200))
    # It stops where there is no room for a whole request, and that depends on when it looked.
    wait_until(lambda: ahead.held > 350 - 100, 10, "nothing is read ahead")
    time.sleep(0.2)
    assert ahead.held <= 350
    ahead.stop()


def test_a_hole_is_left_to_the_task(stored, server):
    """Reading ahead would step over a deleted event, which is data loss."""
    options = stored()
    on_jetstream(server.endpoint, lambda js: js.delete_msg(options.stream, 1_500))
    ahead = reading(options, 1, 100, EVENTS)
    assert numbers(ahead.rows(EVENTS + 1, EVENTS + 1)) == list(range(1, 1_401))
    assert ahead.position == 1_401


def test_what_nobody_asks_for_is_let_go(stored, monkeypatch):
    """A worker whose query has ended would keep its events for as long as it lives."""
    monkeypatch.setattr(module, "IDLE_S", 0.2)
    ahead = reading(stored(), 1, 100, 350)
    assert numbers(ahead.rows(200, EVENTS + 1)) == list(range(1, 200))
    wait_until(lambda: ahead.is_over, 10, "the events are still there")
    assert numbers(ahead.rows(300, EVENTS + 1)) == []


def test_a_task_that_stands_still_goes_on_where_it_was(stored, monkeypatch):
    """A JVM that takes nothing for a minute would end in an error, or with events twice."""
    monkeypatch.setattr(module, "IDLE_S", 0.2)
    ahead = reading(stored(), 1, 100, 350)
    slow = ahead.rows(1_001, EVENTS + 1)
    got = numbers(iter([next(slow)]))
    wait_until(lambda: ahead.is_over, 10, "the events are still there")
    assert numbers(slow) == []
    assert got == list(range(1, ahead.position))


def test_who_let_go_may_guess_again(stored, monkeypatch):
    """A query whose triggers are far apart, or whose server was away, would never be read ahead again."""
    monkeypatch.setattr(module, "IDLE_S", 0.2)
    monkeypatch.setattr(source, "_guesses", Guesses())
    read = planned(stored(fetchBatch="100"))
    assert numbers(read(1, 201)) == list(range(1, 201))
    gone = source._guesses._current[1]
    wait_until(lambda: gone.is_over, 10, "the events are still there")
    assert numbers(read(201, 401)) == list(range(201, 401))
    assert source._guesses._current[1] is not gone


def planned(options: SourceOptions) -> Callable[[int, int], list[pa.RecordBatch]]:
    reader = JetStreamReader(SCHEMA, options)

    def read(first: int, end: int) -> list[pa.RecordBatch]:
        (part,) = reader.partitions(Offset(first).as_dict(), Offset(end).as_dict())
        return list(reader.read(part))

    return read


def test_the_next_task_finds_its_events(stored, monkeypatch):
    """The source would plan to read ahead, and never do."""
    monkeypatch.setattr(source, "_guesses", Guesses())
    read = planned(stored(fetchBatch="100"))
    assert numbers(read(1, 201)) == list(range(1, 201))
    ahead = source._guesses._current[1]
    wait_until(lambda: ahead.held == EVENTS - 200, 10, "nothing is read ahead")
    monkeypatch.setattr(source, "read_range", lambda *_: iter(()))  # what is not held, nobody reads
    assert numbers(read(201, 1_001)) == list(range(201, 1_001))
    assert numbers(read(1_001, EVENTS + 1)) == list(range(1_001, EVENTS + 1))


def test_who_guesses_wrong_does_not_guess_again(stored, monkeypatch):
    """With workers that take turns every event would be read twice."""
    monkeypatch.setattr(source, "_guesses", Guesses())
    read = planned(stored(fetchBatch="100"))
    assert numbers(read(1, 201)) == list(range(1, 201))
    ahead = source._guesses._current[1]
    wait_until(lambda: ahead.held, 10, "nothing is read ahead")
    assert numbers(read(401, 601)) == list(range(401, 601))
    assert numbers(read(801, 1_001)) == list(range(801, 1_001))
    assert source._guesses._current is None


def test_a_bad_row_is_told_by_the_task_it_belongs_to(stored, monkeypatch, capsys):
    """It would be counted by nobody, or by a task that has not got it."""
    monkeypatch.setattr(source, "_guesses", Guesses())
    read = planned(stored(bad=450, fetchBatch="100", mode="PERMISSIVE"))
    assert numbers(read(1, 201)) == list(range(1, 201))
    assert "bad rows" not in capsys.readouterr().err
    got = numbers(read(201, 601))
    assert got == [number if number != 450 else None for number in range(201, 601)]
    assert "1 bad rows, the first at sequence 450" in capsys.readouterr().err


def test_none_is_held_where_it_is_turned_off(stored, monkeypatch):
    """Who has no memory to spare could not say so."""
    monkeypatch.setattr(source, "_guesses", Guesses())
    read = planned(stored(fetchBatch="100", readAheadBytes="0"))
    assert numbers(read(1, 201)) == list(range(1, 201))
    assert source._guesses._current is None


def test_a_schema_of_its_own_is_a_query_of_its_own(stored, monkeypatch):
    """Rows of one query's columns would be given to another."""
    monkeypatch.setattr(source, "_guesses", Guesses())
    options = stored(fetchBatch="100")
    planned(options)(1, 201)
    other = JetStreamReader(StructType([StructField("n", StringType())]), options)
    (part,) = other.partitions(Offset(201).as_dict(), Offset(301).as_dict())
    with pytest.raises(Exception, match="not JSON of this schema"):
        list(other.read(part))
