"""What the statestore suite writes into: the book of its outcomes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.manifest import git_state, machine
from bench.settings import new_run_id
from bench.statestore.book import StateStoreBook
from tests.cases.suite_output import close_book, now_and_then

BOOK = pytest.StashKey[StateStoreBook]()
EVERY_S = 5.0


@pytest.fixture(scope="session")
def full(pytestconfig) -> bool:
    return pytestconfig.getoption("--statestore-full")


@pytest.fixture(scope="session")
def book(pytestconfig, settings, full) -> StateStoreBook:
    book = StateStoreBook(settings.reports_dir / new_run_id("statestore"))
    book.manifest = {"full": full, "machine": machine(), "git": git_state()}
    pytestconfig.stash[BOOK] = book
    return book


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    close_book(terminalreporter, "statestore", config.stash.get(BOOK, None))


@pytest.fixture(scope="session")
def show(screen) -> Callable[[str], None]:
    return now_and_then(screen, EVERY_S)
