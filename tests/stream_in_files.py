"""A stream in files, filled for a test of the source's readers, and the options to read it."""

from __future__ import annotations

from collections.abc import Iterable

from nats.js.api import StorageType, StreamConfig

from bench.infra.endpoint import NatsEndpoint
from spark_jobs.jetstream.options import SourceOptions, parse_source
from tests.jetstream_call import on_jetstream


def fill_in_files(
    endpoint: NatsEndpoint, stream: str, payloads: Iterable[bytes], **options: str
) -> SourceOptions:
    async def fill(js):
        config = StreamConfig(name=stream, subjects=[stream], storage=StorageType.FILE, allow_direct=True)
        await js.add_stream(config)
        for payload in payloads:
            await js.publish_async(stream, payload)
        await js.publish_async_completed()

    on_jetstream(endpoint, fill)
    access = {"servers": endpoint.url, "user": endpoint.user, "password": endpoint.password}
    return parse_source({**access, "stream": stream, **options})
