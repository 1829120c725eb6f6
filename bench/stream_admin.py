"""The control plane of JetStream, through nats-py: streams and consumers, before and after a run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    ConsumerInfo,
    DeliverPolicy,
    DiscardPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, NotFoundError

from bench.contract.names import CTRL, HEARTBEAT_SUBJECT, STREAM_SUBJECTS, Durable
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import InfraError
from bench.wire.connection import Connection, Server

T = TypeVar("T")

#: Says that a stream is ours to delete: on a user's own server another EVENTS may hold real data.
OWNER_MARK = {"jetlag": "benchmark stream, deleted at every run"}
ACK_WAIT_S = 10.0
#: The server's default of 1,000 would throttle every consumer of the suite.
MAX_ACK_PENDING = 200_000
DUPLICATE_WINDOW_S = 600.0


class StreamAdmin:
    """A synchronous face of one nats-py connection; for one thread."""

    def __init__(self, endpoint: NatsEndpoint) -> None:
        self._endpoint = endpoint
        self._runner = asyncio.Runner()
        self._client: Client | None = None

    def __enter__(self) -> StreamAdmin:
        try:
            self._client = self._runner.run(self._dial())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._client is not None:
                self._runner.run(self._client.close())
        finally:
            self._runner.close()

    @property
    def endpoint(self) -> NatsEndpoint:
        return self._endpoint

    def connect(self, name: str) -> Connection:
        """A connection of its own for bulk."""
        endpoint = self._endpoint
        server = Server(endpoint.host, endpoint.port, endpoint.user, endpoint.password, tls=endpoint.tls)
        return Connection(server, f"jetlag-{name}")

    async def _dial(self) -> Client:
        endpoint = self._endpoint

        async def quiet(_error: Exception) -> None:
            """nats-py would print every passing error with its traceback."""

        try:
            return await nats.connect(
                endpoint.url,
                user=endpoint.user or None,
                password=endpoint.password or None,
                connect_timeout=5,
                max_reconnect_attempts=30,
                reconnect_time_wait=0.5,
                error_cb=quiet,
            )
        except (NatsError, OSError, TimeoutError) as error:
            raise InfraError(f"NATS at {endpoint.url} cannot be reached: {error}") from None

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return self._runner.run(coroutine)
        except APIError as error:
            raise InfraError(f"JetStream at {self._endpoint.url}: {error.description}") from None
        except (NatsError, TimeoutError) as error:
            raise InfraError(f"JetStream at {self._endpoint.url} did not answer: {error!r}") from None

    def _js(self) -> JetStreamContext:
        assert self._client is not None
        return self._client.jetstream(timeout=10)

    # -- streams -------------------------------------------------------------------

    def recreate_streams(self, storage: str, replicas: int, max_bytes: int = -1) -> None:
        """EVENTS, RESULTS and CTRL, empty; those of an earlier run are deleted, others' never."""
        for name, subject in STREAM_SUBJECTS.items():
            self.delete_stream(name)
            config = StreamConfig(
                name=name,
                subjects=[subject],
                storage=StorageType(storage),
                num_replicas=replicas,
                max_bytes=max_bytes,
                allow_direct=True,
                duplicate_window=DUPLICATE_WINDOW_S,
                metadata=OWNER_MARK,
            )
            self._run(self._js().add_stream(config))

    def refuse_more(self, name: str) -> None:
        """From now on the stream takes no message beyond those it has."""
        info = self.stream(name)
        assert info is not None
        config = info.config
        config.discard, config.max_msgs = DiscardPolicy.NEW, max(1, info.state.messages)
        self._run(self._js().update_stream(config))

    def step_down(self, name: str) -> None:
        """Another server of the cluster shall lead the stream."""
        assert self._client is not None
        self._run(self._client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{name}", b"", timeout=5))

    def remake_on_file(self, name: str, subject: str) -> None:
        """An empty stream; what was under its name is deleted. On file, for an engine's checkpoint outlives a
        broker that is killed.
        """
        self.delete_stream(name)
        config = StreamConfig(
            name=name,
            subjects=[subject],
            storage=StorageType.FILE,
            allow_direct=True,
            duplicate_window=DUPLICATE_WINDOW_S,
            metadata=OWNER_MARK,
        )
        self._run(self._js().add_stream(config))

    def message_count(self, name: str) -> int:
        """How many messages it holds; a stream that is not there holds none."""
        info = self.stream(name)
        return 0 if info is None else info.state.messages

    def delete_stream(self, name: str) -> None:
        info = self.stream(name)
        if info is None:
            return
        if (info.config.metadata or {}).get("jetlag") != OWNER_MARK["jetlag"]:
            raise InfraError(
                f"stream {name} at {self._endpoint.url} was not made by jetlag, so it is not deleted; "
                "use another server or remove it yourself"
            )
        self._run(self._js().delete_stream(name))

    def delete_streams(self) -> None:
        for name in STREAM_SUBJECTS:
            self.delete_stream(name)

    def stream(self, name: str) -> StreamInfo | None:
        async def look() -> StreamInfo | None:
            try:
                return await self._js().stream_info(name)
            except NotFoundError:
                return None

        return self._run(look())

    # -- consumers -----------------------------------------------------------------

    def create_consumer(self, durable: Durable, ack_policy: str) -> None:
        config = ConsumerConfig(
            durable_name=durable.name,
            filter_subject=durable.filter_subject,
            ack_policy=AckPolicy(ack_policy),
            ack_wait=ACK_WAIT_S,
            max_ack_pending=MAX_ACK_PENDING if ack_policy != "none" else None,
            deliver_policy=DeliverPolicy.ALL,
        )
        self._run(self._js().add_consumer(durable.stream, config))

    def create_pulse_consumer(self, name: str) -> None:
        """An ephemeral consumer of the heartbeat; the server removes it when nobody asks any more."""
        config = ConsumerConfig(
            name=name,
            filter_subject=HEARTBEAT_SUBJECT,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=120.0,
        )
        self._run(self._js().add_consumer(CTRL, config))

    def consumer(self, durable: Durable) -> ConsumerInfo:
        info: ConsumerInfo = self._run(self._js().consumer_info(durable.stream, durable.name))
        return info
