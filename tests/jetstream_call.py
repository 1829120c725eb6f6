"""One call on a server's JetStream, on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import nats
from nats.js import JetStreamContext

from bench.infra.endpoint import NatsEndpoint

_T = TypeVar("_T")


def on_jetstream(endpoint: NatsEndpoint, use: Callable[[JetStreamContext], Awaitable[_T]]) -> _T:
    async def go() -> _T:
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        try:
            return await use(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(go())
