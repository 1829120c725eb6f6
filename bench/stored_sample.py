"""When JetStream stored some of a run's events: the first hop of the engine cases.

Nobody in those cases reads events.* but the engine, so the stamps are looked up afterwards.
"""

from __future__ import annotations

import asyncio

import nats
import numpy as np

from bench.contract.event import decode_event
from bench.contract.names import EVENTS, FLUSH_KEY
from bench.infra.endpoint import NatsEndpoint
from bench.latency import LatencyRecorder, LatencySummary
from bench.schedule import Ints

SAMPLES = 300


def intended_to_stored(
    endpoint: NatsEndpoint, intended_epoch_ns: Ints, first: int, last: int
) -> LatencySummary:
    """Of events spread evenly over stream sequences first..last; `intended_epoch_ns` is by seq."""
    places = np.unique(np.linspace(first, max(first, last), SAMPLES).astype(np.int64)).tolist()
    recorder = LatencyRecorder()
    stamps = asyncio.run(_stamps(endpoint, places))
    late_us = [(stored_ns - int(intended_epoch_ns[seq])) // 1000 for seq, stored_ns in stamps]
    recorder.record(np.array(late_us, np.int64))
    return recorder.total


async def _stamps(endpoint: NatsEndpoint, places: list[int]) -> list[tuple[int, int]]:
    client = await nats.connect(
        endpoint.url, user=endpoint.user or None, password=endpoint.password or None, connect_timeout=5
    )
    try:
        js = client.jetstream()
        found: list[tuple[int, int]] = []
        for place in places:
            try:
                message = await js.get_msg(EVENTS, place, direct=True)
            except nats.js.errors.NotFoundError:
                continue  # deleted, by a sabotage say: the ledger tells of it
            if message.data and message.time:
                event = decode_event(message.data)
                if event.key == FLUSH_KEY:
                    continue
                found.append((event.seq, int(message.time.timestamp() * 1e6) * 1000))
        return found
    finally:
        await client.close()
