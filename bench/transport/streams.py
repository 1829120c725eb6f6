"""The streams of a cell: made empty, looked at, and deleted, through any server of the cluster."""

from __future__ import annotations

from typing import Any

from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, StorageType, StreamConfig

from bench.infra.endpoint import NatsEndpoint
from bench.infra.nats_cluster import NatsCluster
from bench.stream_admin import DUPLICATE_WINDOW_S, OWNER_MARK, StreamAdmin
from bench.transport.cell import Cell


class TransportAdmin(StreamAdmin):
    def __init__(self, endpoint: NatsEndpoint, timeout_s: float = 10.0) -> None:
        super().__init__(endpoint)
        self._timeout_s = timeout_s

    def _js(self) -> JetStreamContext:
        assert self._client is not None
        return self._client.jetstream(timeout=self._timeout_s)

    def __enter__(self) -> TransportAdmin:
        super().__enter__()
        return self

    def make(
        self, name: str, subjects: str, storage: str, replicas: int, discard: str = "old", **limits: Any
    ) -> None:
        self.delete_stream(name)
        config = StreamConfig(
            name=name,
            subjects=[subjects],
            storage=StorageType(storage),
            num_replicas=replicas,
            allow_direct=True,
            allow_atomic=True,
            duplicate_window=DUPLICATE_WINDOW_S,
            discard=DiscardPolicy(discard),
            metadata=OWNER_MARK,
            **limits,
        )
        self._run(self._js().add_stream(config))

    def make_all(self, cell: Cell, **limits: Any) -> None:
        for name, subjects in cell.streams().items():
            self.make(name, subjects, cell.storage, cell.replicas, **limits)

    def delete_all(self, cell: Cell) -> None:
        for name in cell.streams():
            self.delete_stream(name)

    def add_consumer(self, stream: str, config: ConsumerConfig) -> None:
        self._run(self._js().add_consumer(stream, config))

    def state(self, name: str) -> tuple[int, int]:
        """(messages, bytes) of one copy."""
        info = self.stream(name)
        return (info.state.messages, info.state.bytes) if info is not None else (0, 0)

    def placement(self, name: str) -> dict[str, Any]:
        """Who leads the stream, who follows, and whether they are up to date."""
        info = self.stream(name)
        if info is None or info.cluster is None:
            return {"leader": None, "replicas": {}}
        peers = info.cluster.replicas or []
        return {
            "leader": info.cluster.leader,
            "replicas": {
                peer.name: {
                    "current": bool(peer.current),
                    "offline": bool(peer.offline),
                    "lag": peer.lag or 0,
                }
                for peer in peers
            },
        }


def admin_of(cluster: NatsCluster, first: str | None = None, timeout_s: float = 10.0) -> TransportAdmin:
    return TransportAdmin(cluster.endpoints(first)[0], timeout_s)


def is_healthy(placement: dict[str, Any], replicas: int) -> bool:
    """A leader, and every other copy there and up to date."""
    others = placement["replicas"].values()
    current = all(peer["current"] and not peer["offline"] and not peer["lag"] for peer in others)
    return bool(placement["leader"]) and len(others) == replicas - 1 and current
