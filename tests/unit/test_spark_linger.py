"""Linger: a task waits for more events of what it asked for, and for nothing else."""

from __future__ import annotations

import pytest

from spark_jobs.jetstream.fetch import _Pull
from spark_jobs.jetstream.options import parse_source

MARK = b"MSG _INBOX.0123456789abcdef "
DELIVERY = MARK + b"2 $JS.ACK.S.spark-0123456789ab.1.1.1.1700000000000000000.0 0\r\n\r\n"
NEEDED = {"servers": "nats://127.0.0.1:4222", "stream": "EVENTS"}


class Arriving:
    """A connection to which one delivery comes with each read, as long as there are some."""

    def __init__(self, deliveries: int) -> None:
        self._left = deliveries
        self._buffer = b""
        self.waits: list[float] = []

    def fill(self, timeout_s: float) -> int:
        self.waits.append(timeout_s)
        if not self._left:
            return 0
        self._left -= 1
        self._buffer += DELIVERY
        return len(DELIVERY)

    @property
    def unread_bytes(self) -> int:
        return len(self._buffer)

    def unread_count(self, mark: bytes) -> int:
        return self._buffer.count(mark)

    def take(self) -> bytes:
        return self._buffer


def pull(connection: Arriving, outstanding: int, linger_ms: int = 5) -> _Pull:
    one = object.__new__(_Pull)
    one._connection = connection
    one._linger_s = linger_ms / 1000
    one._delivery = MARK
    one._outstanding = outstanding
    return one


@pytest.mark.parametrize("outstanding", [1, 2, 7])
def test_nobody_lingers_when_all_that_was_asked_for_is_here(outstanding):
    """With small requests every chunk would wait its whole linger for events that cannot come."""
    connection = Arriving(outstanding)
    pull(connection, outstanding)._receive()
    assert len(connection.waits) == outstanding


def test_what_is_still_to_come_is_waited_for_once():
    """Without a wait every event would be handed over by itself; with more than one, never in time."""
    connection = Arriving(3)
    assert pull(connection, 10)._receive() == DELIVERY * 3
    assert connection.waits[1:] == [0.005] * 3


def test_linger_0_hands_over_what_is_there():
    """The user who asks for no linger would get one."""
    connection = Arriving(1)
    pull(connection, 10, linger_ms=0)._receive()
    assert connection.waits[1:] == [0.0]


@pytest.mark.parametrize("text", ["-1", "5ms", "1001", ""])
def test_a_bad_linger_is_told_by_name(text):
    """A typing error would be a source that waits for seconds, or not at all."""
    with pytest.raises(ValueError, match="lingerMs"):
        parse_source({**NEEDED, "lingerMs": text})
