"""Sentinels: sent when all events are, to every partition, again and again, by a name that ledgers skip."""

from __future__ import annotations

import threading

import pytest

from bench import flush
from bench.contract.event import decode_event
from bench.contract.names import FLUSH_KEY
from bench.flush import Flusher, sentinel_frames
from bench.wire.errors import ConnectionLost


class FakeConnection:
    def __init__(self, sent: list[bytes]) -> None:
        self._sent = sent

    def send(self, data: bytes) -> None:
        self._sent.append(data)

    def close(self) -> None:
        """Nothing is open."""


def test_a_sentinel_a_partition_past_the_last_window() -> None:
    """A partition without one keeps its last window for ever: each may have a watermark of its own."""
    frames = sentinel_frames("run-1", 3, 1_700_000_000_000)
    parts = frames.split(b"\r\n")[:-1]
    assert [head.split()[1] for head in parts[::2]] == [b"events.0", b"events.1", b"events.2"]
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        assert int(head.split()[2]) == len(body)
        event = decode_event(body)
        assert (event.run_id, event.key, event.seq) == ("run-1", FLUSH_KEY, 0)
        assert event.producer_ts_ms == 1_700_000_000_000


def test_none_before_the_last_event_then_round_after_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent early it would make later events late; sent once it would not flush an engine without a timer."""
    monkeypatch.setattr(flush, "FLUSH_EVERY_S", 0.001)
    sent: list[bytes] = []
    stop = threading.Event()
    rounds = 0

    def connect(_name: str) -> FakeConnection:
        if len(sent) == 1:
            sent.append(b"")
            raise ConnectionLost("the broker is away")
        return FakeConnection(sent)

    def all_sent() -> bool:
        nonlocal rounds
        rounds += 1
        assert rounds > 3 or not sent
        if rounds > 6:
            stop.set()
        return rounds > 3

    flusher = Flusher(connect, run_id="r", partitions=2, window_ms=1000, all_sent=all_sent)  # type: ignore[arg-type]
    flusher.run(stop)
    assert flusher.rounds == 3
    assert [data.count(b"PUB events.") for data in sent] == [2, 0, 2, 2]
