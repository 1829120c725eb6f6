"""What the source suite runs on: a broker, one Spark for all turns, and the book its outcomes go into."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from bench.driverbench.broker import Broker
from bench.engine.registry import ENGINES, EngineOptions
from bench.infra.service import identity
from bench.manifest import git_state, machine
from bench.settings import new_run_id
from bench.source.backlog import Backlogs
from bench.source.bento_engine import BentoSource
from bench.source.book import SourceBook
from bench.source.outcome import Rounds
from bench.source.spark_engine import SparkSource
from bench.sparkbench.preload import TASKS
from bench.wire.native.library import library
from tests.cases.suite_output import close_book, now_and_then

BOOK = pytest.StashKey[SourceBook]()
EVERY_S = 5.0
SMOKE_EVENTS = (20_000,)
FULL_EVENTS = (100_000, 1_000_000)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "events" in metafunc.fixturenames:
        sizes = FULL_EVENTS if metafunc.config.getoption("--source-full") else SMOKE_EVENTS
        metafunc.parametrize("events", sizes, scope="session")


@pytest.fixture(scope="session")
def full(pytestconfig) -> bool:
    return pytestconfig.getoption("--source-full")


@pytest.fixture(scope="session")
def broker(nats_stack) -> Iterator[Broker]:
    with Broker(nats_stack.nats) as broker:
        yield broker


@pytest.fixture(scope="session")
def spark(nats_stack) -> Iterator[SparkSource]:
    with SparkSource(nats_stack.nats.endpoint, nats_stack.nats.pids(), TASKS) as spark:
        yield spark


@pytest.fixture(scope="session")
def bento(nats_stack, broker) -> BentoSource:
    return BentoSource(nats_stack.nats.endpoint, broker, os.environ.get("JETLAG_BENTO_IMAGE"))


@pytest.fixture(scope="session")
def backlogs(broker, tmp_path_factory) -> Iterator[Backlogs]:
    backlogs = Backlogs(broker, tmp_path_factory.mktemp("backlog"))
    yield backlogs
    backlogs.clear()  # half a gigabyte at full size, and pytest keeps its folders


@pytest.fixture(scope="session")
def rounds(full) -> Rounds:
    return Rounds(counted=5, warm=3, gated=True) if full else Rounds()


@pytest.fixture(scope="session")
def book(pytestconfig, settings, nats_stack, full) -> SourceBook:
    book = SourceBook(settings.reports_dir / new_run_id("source"))
    nats = nats_stack.nats
    book.manifest = {
        "full": full,
        "tasks": TASKS,
        "compiled_wire": library() is not None,
        "nats": identity(nats),
        "machine": machine(),
        "git": git_state(),
    }
    options = EngineOptions(environ=os.environ)
    for variant in ("arroyo", "rw"):
        # Asked at full size only: whoever asks for an image may have to wait for a registry.
        why = ENGINES[variant].absent(options) if full else "only looked for with --source-full"
        book.not_run.append((variant, why or "its turns over files have not been written"))
    pytestconfig.stash[BOOK] = book
    return book


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    close_book(terminalreporter, "source", config.stash.get(BOOK, None))


@pytest.fixture(scope="session")
def show(screen) -> Callable[[str], None]:
    """A line of progress now and then: a sweep of minutes must not look like a hang."""
    return now_and_then(screen, EVERY_S)
