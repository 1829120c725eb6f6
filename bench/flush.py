"""Sentinels: after the last event, newer ones that make an engine close its last windows.

Arroyo and RisingWave close a window only when newer data arrives, and one message is not enough where an
engine flushes on the next one: they go out every second until the run is over. All ledgers leave the flush
key out by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

from bench.contract.event import Event, encode_event
from bench.contract.names import FLUSH_KEY, events_subject
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost

FLUSH_EVERY_S = 1.0
SENTINEL_BYTES = 512


class Flusher:
    """`all_sent` tells when the producer has an answer to every event: only then may time be moved on."""

    def __init__(
        self,
        connect: Callable[[str], Connection],
        *,
        run_id: str,
        partitions: int,
        window_ms: int,
        all_sent: Callable[[], bool],
    ) -> None:
        self._connect = connect
        self._run_id = run_id
        self._partitions = partitions
        self._window_ms = window_ms
        self._all_sent = all_sent
        self.rounds = 0

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(FLUSH_EVERY_S):
            if self._all_sent():
                # A broker that is away is asked again in the next round.
                with suppress(ConnectionLost, OSError):
                    self._send(int(time.time() * 1000))
                    self.rounds += 1

    def _send(self, now_ms: int) -> None:
        with closing(self._connect("flush")) as connection:
            connection.send(sentinel_frames(self._run_id, self._partitions, now_ms + 2 * self._window_ms))


def sentinel_frames(run_id: str, partitions: int, producer_ts_ms: int) -> bytes:
    """One PUB a partition: each partition may be an engine's own pipeline, with a watermark of its own."""
    body = encode_event(Event(run_id, 0, producer_ts_ms, FLUSH_KEY, 0), SENTINEL_BYTES)
    return b"".join(
        f"PUB {events_subject(p)} {len(body)}\r\n".encode() + body + b"\r\n" for p in range(partitions)
    )
