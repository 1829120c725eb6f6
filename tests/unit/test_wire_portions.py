"""What a connection reads: bytes in any portions are the same messages."""

from __future__ import annotations

import contextlib
import socket
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.connection import Connection, Server
from bench.wire.errors import WireError

relaxed = settings(deadline=None)  # a busy machine is no finding


class Portions:
    """A socket that hands out given portions, then has nothing."""

    def __init__(self, portions: list[bytes]) -> None:
        self.portions = portions
        self.sent = b""

    def recv_into(self, view: memoryview) -> int:
        if not self.portions:
            raise BlockingIOError
        portion, rest = self.portions[0][: len(view)], self.portions[0][len(view) :]
        view[: len(portion)] = portion
        self.portions = [rest, *self.portions[1:]] if rest else self.portions[1:]
        return len(portion)

    def send(self, data: bytes) -> int:
        self.sent += bytes(data)
        return len(data)


class Offline(Connection):
    """A connection after its handshake, on a socket of portions."""

    def __init__(self, portions: list[bytes]) -> None:
        self._portions = Portions(portions)
        super().__init__(Server("nowhere", 1), "test")

    def _dial(self, *_: object) -> socket.socket:
        return self._portions  # type: ignore[return-value]


@relaxed
@given(
    st.lists(st.binary(max_size=300), max_size=40),
    st.lists(st.integers(0, 20_000), max_size=15),
    st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_every_message_arrives_once_with_the_time_of_its_last_byte(
    bodies: list[bytes], places: list[int], takes: list[bool]
) -> None:
    """If this fails, messages are lost between reads, or latencies are those of another portion."""
    frames = [b"MSG a 1 %d\r\n%s\r\n" % (len(body), body) for body in bodies]
    data = b"".join(frames)
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    portions = [data[a:b] for a, b in pairwise(borders)]
    connection = Offline(list(portions))
    payloads: list[bytes] = []
    arrived: list[int] = []
    filled: list[tuple[int, int, int]] = []  # bytes so far, and the clock before and after that portion
    total = 0
    for number, _ in enumerate(portions):
        before = time.monotonic_ns()
        total += connection.fill(0.0)
        filled.append((total, before, time.monotonic_ns()))
        if takes[number % len(takes)] or number == len(portions) - 1:
            batch = connection.take()
            payloads += [batch.payload(i) for i in range(len(batch))]
            arrived += batch.arrived_ns.tolist()
    assert payloads == bodies
    assert (np.diff(arrived) >= 0).all()
    ends = np.cumsum([len(frame) for frame in frames])
    for end, at in zip(ends, arrived, strict=True):
        _, before, after = next(portion for portion in filled if portion[0] >= end)
        assert before <= at <= after


@relaxed
@given(st.binary(max_size=400), st.integers(1, 50))
def test_noise_is_a_wire_error_or_nothing(data: bytes, size: int) -> None:
    """If this fails, a server gone mad kills a driver with an exception nobody expects."""
    connection = Offline([data[i : i + size] for i in range(0, len(data), size)])
    with contextlib.suppress(WireError):
        while connection.fill(0.0):
            assert len(connection.take()) == 0 or b"MSG " in data


def test_arrival_stamps_do_not_pile_up() -> None:
    """If this fails, a reader grows slower and larger with every portion of a long run."""
    frame = b"MSG a 1 5\r\nhello\r\n"
    data = frame * 100
    connection = Offline([data[i : i + 7] for i in range(0, len(data), 7)])
    while connection.fill(0.0):
        connection.take()
        assert len(connection._stamps) <= 1


def test_a_message_larger_than_the_buffer_is_an_error() -> None:
    """If this fails, a reader waits for ever for a message that cannot fit."""
    connection = Offline([b"MSG a 1 99999999\r\n" + bytes(1 << 20), *[bytes(1 << 20)] * 10])

    def read_on() -> None:
        for _ in range(20):
            connection.fill(0.0)
            connection.take()

    with pytest.raises(WireError, match="larger than"):
        read_on()


def test_a_full_buffer_is_read_on_after_a_take() -> None:
    """If this fails, a burst of more than the buffer holds loses messages or stops the reader."""
    frame = b"MSG a 1 1000\r\n" + b"x" * 1000 + b"\r\n"
    count = 10_000
    data = frame * count
    connection = Offline([data[i : i + 1_000_000] for i in range(0, len(data), 1_000_000)])
    while connection.fill(0.0):
        pass
    first = len(connection.take())
    assert 8_000 < first < count
    while connection.fill(0.0):
        pass
    assert first + len(connection.take()) == count
