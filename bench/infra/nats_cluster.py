"""Three NATS servers that form one JetStream cluster, behind one handle: start, look, hurt, stop."""

from __future__ import annotations

import json
import secrets
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.local_nats import LocalNats
from bench.infra.nats_config import ClusterSeat
from bench.infra.ports import LOOPBACK, free_ports
from bench.infra.service import READY_TIMEOUT_S, Service
from bench.infra.waiting import wait_until

SIZE = 3
ROUTE_USER = "route"
START_ATTEMPTS = 3
MONITOR_TIMEOUT_S = 2.0

Node = Service[NatsEndpoint]
#: Makes the servers for one attempt to start; a later attempt needs other ports, so other seats.
MakeNodes = Callable[[str | None], dict[str, Node]]


class NatsCluster:
    """`nodes` by name; a name is also what JetStream calls the server when it names a leader."""

    def __init__(
        self,
        make_nodes: MakeNodes,
        sync_interval: str | None = None,
        around: ExitStack | None = None,
    ) -> None:
        self._make_nodes = make_nodes
        self._sync_interval = sync_interval
        #: What must be there before the servers and go after them (a container network).
        self._around = around or ExitStack()
        self.nodes: dict[str, Node] = {}

    @property
    def sync_interval(self) -> str:
        return self._sync_interval or "server default (2m)"

    def __enter__(self) -> NatsCluster:
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self.nodes = self._make_nodes(self._sync_interval)
                for node in self.nodes.values():
                    node.start()
                self.wait_ready()
                return self
            except ServiceError as error:
                self._stop_nodes()
                # Another process may take a route's port between our look and the server's bind.
                if "address already in use" not in str(error) or attempt == START_ATTEMPTS:
                    self.stop()
                    raise
            except BaseException:
                self.stop()
                raise
        raise AssertionError("unreachable")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop_nodes()
        self._around.close()

    def _stop_nodes(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Until every server answers, knows all the others, and they agree on who leads."""
        for node in self.nodes.values():
            node.wait_ready(timeout_s)
        try:
            wait_until(self._agreed, timeout_s, "the NATS cluster has no leader that all know")
        except TimeoutError as error:
            tails = "\n".join(f"{name}:\n{node.log_tail(15)}" for name, node in self.nodes.items())
            raise ServiceError(str(error), tails) from error

    def _agreed(self) -> bool:
        metas = [self.monitor(name, "jsz").get("meta_cluster", {}) for name in self.nodes]
        leaders = {meta.get("leader") for meta in metas}
        sized = all(meta.get("cluster_size") == len(self.nodes) for meta in metas)
        return sized and len(leaders) == 1 and None not in leaders and self._healthy()

    def _healthy(self) -> bool:
        return all(self.monitor(name, "healthz").get("status") == "ok" for name in self.nodes)

    def monitor(self, name: str, page: str) -> dict[str, Any]:
        """A page of one server's monitoring port; OSError when it does not answer."""
        endpoint = self.nodes[name].endpoint
        url = f"http://{endpoint.host}:{endpoint.monitor_port}/{page}"
        with urllib.request.urlopen(url, timeout=MONITOR_TIMEOUT_S) as answer:
            content = json.load(answer)
        assert isinstance(content, dict)
        return content

    def meta_leader(self) -> str:
        for name in self.nodes:
            try:
                return str(self.monitor(name, "jsz")["meta_cluster"]["leader"])
            except (OSError, KeyError):
                continue
        raise ServiceError("no server of the NATS cluster tells who leads it")

    def endpoints(self, first: str | None = None) -> list[NatsEndpoint]:
        """Where to connect, `first` before the others."""
        names = sorted(self.nodes, key=lambda name: name != first)
        return [self.nodes[name].endpoint for name in names]

    def versions(self) -> dict[str, str]:
        return {name: node.version() for name, node in self.nodes.items()}


def seats(addresses: Sequence[tuple[str, str, int]], cluster: str, listen: str) -> list[ClusterSeat]:
    """One seat an address (name, host, port); all share one secret for their routes."""
    password = secrets.token_hex(16)
    return [
        ClusterSeat(
            name=name,
            cluster=cluster,
            host=listen,
            port=port,
            peers=tuple(f"{host}:{at}" for other, host, at in addresses if other != name),
            user=ROUTE_USER,
            password=password,
        )
        for name, _host, port in addresses
    ]


def node_names() -> list[str]:
    return [f"n{number}" for number in range(1, SIZE + 1)]


def local_cluster(sync_interval: str | None = None) -> NatsCluster:
    """Three processes of this machine."""

    def make(interval: str | None) -> dict[str, Node]:
        addresses = [
            (name, LOOPBACK, port) for name, port in zip(node_names(), free_ports(SIZE), strict=True)
        ]
        password = secrets.token_hex(16)
        return {
            seat.name: LocalNats(seat, password, interval) for seat in seats(addresses, "jetlag", LOOPBACK)
        }

    return NatsCluster(make, sync_interval)
