"""The one broker that all contestants use: its streams and consumers, and the CPU it burns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from nats.js.api import AckPolicy as NatsAckPolicy
from nats.js.api import ConsumerConfig, StorageType, StreamConfig

from bench.infra.endpoint import NatsEndpoint
from bench.infra.service import Service
from bench.stream_admin import MAX_ACK_PENDING, OWNER_MARK, StreamAdmin
from bench.wire.pull import AckPolicy

STREAM = "DRIVER"
CONSUMER = "driver"


class Broker(StreamAdmin):
    def __init__(self, service: Service[NatsEndpoint]) -> None:
        super().__init__(service.endpoint)
        self._processes = [psutil.Process(pid) for pid in service.pids()]

    def __enter__(self) -> Broker:
        super().__enter__()
        return self

    def cpu_s(self) -> float:
        times = [process.cpu_times() for process in self._processes]
        return sum(time.user + time.system for time in times)

    def empty_stream(self, storage: str) -> None:
        self.delete_stream(STREAM)
        config = StreamConfig(
            name=STREAM,
            subjects=["driver.*"],
            storage=StorageType(storage),
            allow_direct=True,
            allow_atomic=True,  # `nats bench js pub batch` publishes atomic batches
            metadata=OWNER_MARK,
        )
        self._run(self._js().add_stream(config))

    @contextmanager
    def reader(self, ack_policy: AckPolicy) -> Iterator[str]:
        """The same consumer for whoever reads, from the stream's first message on."""
        config = ConsumerConfig(
            durable_name=CONSUMER,
            ack_policy=NatsAckPolicy(ack_policy),
            max_ack_pending=MAX_ACK_PENDING if ack_policy != "none" else None,
        )
        self._run(self._js().add_consumer(STREAM, config))
        yield CONSUMER
        self._run(self._js().delete_consumer(STREAM, CONSUMER))

    def store(self, subject: str, payload: bytes) -> None:
        """One message more, acknowledged."""
        self._run(self._js().publish(subject, payload))

    def stored(self) -> int:
        return self.message_count(STREAM)
