"""Getting a connection back, and telling of it."""

from __future__ import annotations

import threading

import pytest

from bench import outage
from bench.clock import RunClock
from bench.outage import Outage, OutageLog
from bench.wire.errors import ConnectionLost, WireError

SECOND_NS = 1_000_000_000


class Hands:
    def __init__(self) -> None:
        self.ns = 100 * SECOND_NS

    def __call__(self) -> int:
        return self.ns


class Opener:
    """Fails a number of times, each taking a second of the run's clock, then opens."""

    def __init__(self, hands: Hands, failures: int, error: WireError) -> None:
        self._hands, self._failures, self._error = hands, failures, error
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        self._hands.ns += SECOND_NS
        if self.tries <= self._failures:
            raise self._error
        return "opened"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "_TRY_EVERY_S", 0.0)


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def log(hands: Hands) -> OutageLog:
    return OutageLog("observer", RunClock(hands, hands), start_ns=90 * SECOND_NS)


@pytest.mark.parametrize("failures", [0, 1, 5])
def test_it_tries_until_it_opens_and_notes_how_long(log: OutageLog, hands: Hands, failures: int) -> None:
    """If this fails, a restart of the server ends the run, or the report hides that there was one."""
    opener = Opener(hands, failures, ConnectionLost("still down"))
    opened = log.reopen(opener, ConnectionLost("it broke"), threading.Event(), within_s=60.0)
    assert opened == "opened"
    assert opener.tries == failures + 1
    assert log.outages == [Outage("observer", "it broke", 10.0, 1000.0 * (failures + 1))]


def test_the_first_error_stands_when_time_is_up(log: OutageLog, hands: Hands) -> None:
    """If this fails, the report tells of the last failed try instead of what broke."""
    first = ConnectionLost("it broke")
    opener = Opener(hands, 10**9, ConnectionLost("still down"))
    with pytest.raises(ConnectionLost) as told:
        log.reopen(opener, first, threading.Event(), within_s=0.01)
    assert told.value is first
    assert opener.tries >= 1
    assert log.outages == []


def test_a_stop_ends_the_trying(log: OutageLog, hands: Hands) -> None:
    """If this fails, a run cannot be ended while a server is down."""
    stop = threading.Event()
    stop.set()
    opener = Opener(hands, 10**9, ConnectionLost("still down"))
    with pytest.raises(ConnectionLost, match="it broke"):
        log.reopen(opener, ConnectionLost("it broke"), stop, within_s=3600.0)
    assert opener.tries == 1


def test_a_refusal_is_not_tried_again(log: OutageLog, hands: Hands) -> None:
    """If this fails, a wrong password is offered for a whole minute."""
    opener = Opener(hands, 10**9, WireError("Authorization Violation"))
    with pytest.raises(WireError, match="Authorization Violation"):
        log.reopen(opener, ConnectionLost("it broke"), threading.Event(), within_s=3600.0)
    assert opener.tries == 1


def test_an_outage_can_be_noted_by_hand(log: OutageLog, hands: Hands) -> None:
    """If this fails, a database that was away does not show in the report."""
    lost_ns = hands.ns
    hands.ns += 250_000_000
    log.note("database: gone", lost_ns)
    assert log.outages == [Outage("observer", "database: gone", 10.0, 250.0)]
