"""The validator without a database: what a poll counts, and what it does when nobody answers."""

from __future__ import annotations

import itertools
import threading
from decimal import Decimal

import pymysql
import pytest

from bench.validator import OVERLAP_US, Validator
from bench.worker import Worker


class Database:
    """Answers polls from a list; an exception in it is raised."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked: list[tuple] = []
        self.connections = self.commits = self.closed = 0

    def connect(self) -> Database:
        self.connections += 1
        return self

    def cursor(self) -> Database:
        return self

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, _sql: str, parameters: tuple) -> None:
        self.asked.append(parameters)

    def fetchall(self) -> list[tuple]:
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

    def commit(self) -> None:
        self.commits += 1

    def close(self) -> None:
        self.closed += 1


def polled(database: Database, polls: int) -> Validator:
    validator = Validator(database.connect, run_id="run", variant="mock")  # type: ignore[arg-type]
    for _ in range(polls):
        validator._poll()
    return validator


def test_polls_add_up() -> None:
    """If this fails, the DB line shows one poll's rows and not the run's."""
    database = Database(
        [(1_700_000_000_000_001, 12, 300, 900), (1_700_000_000_500_000, 13, 200, 800)],
        [],
        [(1_700_000_001_000_000, 2, 5, 850)],
    )
    state = polled(database, 3).state
    assert (state.rows, state.max_seq, state.polls) == (505, 900, 3)
    assert state.latency.total.count == 505
    assert state.latency.total.percentile_us(50) == pytest.approx(12_000, rel=0.001)
    assert database.commits == 3, "without a commit the next poll reads the same snapshot"


def test_a_poll_asks_for_what_is_newer_and_the_last_moments_again() -> None:
    """If this fails, rows around the newest one are counted twice or never."""
    newest_us = 1_700_000_000_123_456
    database = Database([(newest_us - 7, 1, 1, 1), (newest_us, 2, 1, 2)], [(newest_us - 1, 1, 1, 3)])
    polled(database, 3)
    assert [parameters[:2] for parameters in database.asked] == [("mock", "run")] * 3
    asked = [parameters[2] for parameters in database.asked]
    since = Decimal(newest_us - OVERLAP_US).scaleb(-6)
    assert asked == [0, since, since]
    assert all(isinstance(when, Decimal) for when in asked)


def test_rows_that_two_polls_read_count_once() -> None:
    """If this fails, the overlap doubles rows, or a batch overtaken by another is never counted."""
    now = 1_700_000_000_000_000
    database = Database(
        [(now, 5, 100, 100)],
        [(now - 9, 6, 50, 60), (now, 5, 100, 100), (now, 7, 3, 90)],  # begun before, committed after
        [(now - 9, 6, 50, 60), (now, 5, 102, 110), (now, 7, 3, 90)],
    )
    validator = polled(database, 3)
    assert (validator.state.rows, validator.state.max_seq) == (155, 110)
    assert validator.state.latency.total.count == 155


def test_between_bursts_nothing_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the polls between two windows cost TiDB as much as the writes."""
    newest_us = 1_700_000_000_123_456
    seconds = itertools.count(1000, 2 * OVERLAP_US // 1_000_000)
    monkeypatch.setattr("bench.validator.time.monotonic", lambda: float(next(seconds)))
    database = Database([(newest_us, 2, 1, 2)], [], [], [(newest_us + 5, 1, 1, 3)])
    polled(database, 5)
    overlapping, settled = (Decimal(us).scaleb(-6) for us in (newest_us - OVERLAP_US, newest_us))
    asked = [parameters[2] for parameters in database.asked]
    assert asked == [0, overlapping, settled, settled, settled], "a late row must not bring the old ones back"


def running(database: Database) -> tuple[Validator, Worker]:
    validator = Validator(database.connect, run_id="run", variant="mock")  # type: ignore[arg-type]
    worker = Worker("validator", validator.run)
    worker.start()
    return validator, worker


def test_a_database_that_is_gone_leaves_the_last_state_standing() -> None:
    """If this fails, a restart of TiDB ends the validator, or what it had counted is lost."""
    gone = pymysql.err.OperationalError(2013, "Lost connection")
    database = Database([(5, 1, 10, 10)], gone, [(5, 1, 10, 10), (6, 1, 3, 13)])
    validator, worker = running(database)
    while validator.state.polls + validator.failed_polls < 3:
        assert worker.alive
        validator.refresh(5.0)
    assert worker.join(5)
    assert worker.error is None
    assert (validator.state.rows, validator.failed_polls) == (13, 1)
    assert database.connections == database.closed == 2


def test_an_error_that_is_no_outage_ends_the_validator() -> None:
    """If this fails, a broken query is retried for the whole run and looks like a slow database."""
    validator, worker = running(Database(pymysql.err.ProgrammingError(1146, "no such table")))
    validator.refresh(5.0)
    assert worker.join(5)
    assert isinstance(worker.error, pymysql.err.ProgrammingError)


def test_a_refresh_does_not_wait_for_ever() -> None:
    """If this fails, a hanging database stops the metric lines."""
    validator = Validator(lambda: None, run_id="run", variant="mock")  # type: ignore[arg-type, return-value]
    assert validator.refresh(0.01).rows == 0


def test_the_first_poll_comes_before_it_is_asked_for() -> None:
    """If this fails, connecting and planning fall into the first second that is measured."""
    database = Database()
    polled_once = threading.Event()
    database.commit = polled_once.set  # type: ignore[method-assign]
    _, worker = running(database)
    assert polled_once.wait(5)
    assert worker.join(5)
