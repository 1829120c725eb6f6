"""What the joins suite runs on: streams, one Spark for all joins, and the book its outcomes go into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from bench.infra.service import identity
from bench.joins.book import JoinBook
from bench.joins.run import run_case
from bench.joins.sizes import FULL, SMOKE, Make, Sizes
from bench.joins.spark_engine import SparkJoins
from bench.joins.streams import JoinStreams
from bench.manifest import git_state, machine
from bench.settings import new_run_id
from bench.sparkbench.preload import TASKS
from tests.cases.suite_output import close_book, now_and_then

BOOK = pytest.StashKey[JoinBook]()
EVERY_S = 5.0


@pytest.fixture(scope="session")
def sizes(pytestconfig, settings) -> Sizes:
    """--rate is the rate of live cases, over all topics."""
    chosen = FULL if pytestconfig.getoption("--joins-full") else SMOKE
    return replace(chosen, rows_per_s=settings.rate_per_s) if settings.rate_per_s else chosen


@pytest.fixture(scope="session")
def streams(nats_stack) -> Iterator[JoinStreams]:
    with JoinStreams(nats_stack.nats.endpoint) as streams:
        yield streams


@pytest.fixture(scope="session")
def spark(nats_stack, settings, book) -> Iterator[SparkJoins]:
    with SparkJoins(nats_stack.nats.endpoint, TASKS, settings.spark_conf) as spark:
        book.manifest["spark"] = spark.settings()
        yield spark


@pytest.fixture(scope="session")
def warmed(spark, streams, sizes, show) -> Callable[[Make], None]:
    """Before a live case at full size; in CI speed is not judged."""

    def warm(make: Make) -> None:
        case = sizes.warm_up(make)
        if case is not None:
            run_case(spark, streams, case, show)

    return warm


@pytest.fixture(scope="session")
def book(pytestconfig, settings, nats_stack, sizes) -> JoinBook:
    nats = nats_stack.nats
    book = JoinBook(
        settings.reports_dir / new_run_id("joins"),
        {
            "full": sizes.full,
            "nats": identity(nats),
            "machine": machine(),
            "git": git_state(),
        },
    )
    pytestconfig.stash[BOOK] = book
    return book


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    close_book(terminalreporter, "joins", config.stash.get(BOOK, None))


@pytest.fixture(scope="session")
def show(screen) -> Callable[[str], None]:
    """A line of progress now and then: a run of minutes must not look like a hang."""
    return now_and_then(screen, EVERY_S)
