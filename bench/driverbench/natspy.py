"""nats-py as its users write it: publish_async with futures checked, and fetch in a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import nats
from nats.aio.client import Client

from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import PATIENCE_S, Spent
from bench.driverbench.stopwatch import Stopwatch

IN_FLIGHT = 4000
FETCH = 500


def publish(broker: Broker, messages: int, size: int) -> Spent:
    payload = b"x" * size

    async def work(client: Client) -> None:
        jetstream = client.jetstream(publish_async_max_pending=IN_FLIGHT)
        futures = [await jetstream.publish_async("driver.0", payload) for _ in range(messages)]
        await asyncio.wait_for(jetstream.publish_async_completed(), PATIENCE_S)
        acked = sum(1 for future in futures if future.result().seq)
        if acked != messages:
            raise TurnFailed(f"nats-py: {acked} of {messages} messages were acknowledged")

    return _measured(broker, work)


def fetch(broker: Broker, messages: int) -> Spent:
    async def work(client: Client) -> None:
        subscription = await client.jetstream().pull_subscribe_bind(consumer, stream=STREAM)
        received = 0
        while received < messages:
            wanted = min(FETCH, messages - received)
            received += len(await subscription.fetch(wanted, timeout=5))

    with broker.reader("none") as consumer:
        return _measured(broker, work)


def _measured(broker: Broker, work: Callable[[Client], Awaitable[None]]) -> Spent:
    endpoint = broker.endpoint

    async def session() -> Stopwatch:
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        watch = Stopwatch(broker.cpu_s)
        try:
            await work(client)
        finally:
            watch.stop()
            await client.close()
        return watch

    watch = asyncio.run(session())
    return Spent(watch.elapsed_s, watch.process_cpu_s, watch.process_cpu_s, watch.server_cpu_s)
