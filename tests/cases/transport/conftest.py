"""The cluster that the transport suite runs on, and the book its outcomes go into."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bench.infra.nats_cluster import NatsCluster
from bench.infra.service import identity
from bench.manifest import git_state, machine
from bench.settings import new_run_id
from bench.transport.book import TransportBook
from bench.transport.cell import Cell
from bench.transport.choice import chosen
from tests.cases.suite_output import close_book, now_and_then

EVERY_S = 30.0
BOOK = pytest.StashKey[TransportBook]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        option = metafunc.config.getoption
        cells = (
            chosen(option("--profile"), option("--transport-full")) if option("--profile") != "soak" else []
        )
        metafunc.parametrize("cell", cells, ids=[cell.name for cell in cells])


@pytest.fixture(scope="session")
def cluster(provider) -> Iterator[NatsCluster]:
    with provider.nats_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def book(pytestconfig, settings, cluster) -> TransportBook:
    book = TransportBook(settings.reports_dir / new_run_id("transport"))
    book.manifest = {
        "profile": settings.profile.name,
        "servers": {name: identity(node) for name, node in cluster.nodes.items()},
        "meta_leader": cluster.meta_leader(),
        "sync_interval": cluster.sync_interval,
        "machine": machine(),
        "git": git_state(),
    }
    pytestconfig.stash[BOOK] = book
    return book


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    close_book(terminalreporter, "transport", config.stash.get(BOOK, None))


@pytest.fixture
def cell_that_is_fast() -> Cell:
    """Small enough to be run for the sake of one check."""
    return Cell("one", "memory", 3, "async", 512, groups=1, publishers=1, subscribers=2, messages=2_000)


@pytest.fixture
def show(screen) -> Callable[[str], None]:
    """A line of progress now and then: a soak of hours must not look like a hang."""
    return now_and_then(screen, EVERY_S)
