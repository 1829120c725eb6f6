"""Where the proxies stand: one before each link that a fault of the run will cut or slow down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from bench.fault.proxy import Proxy
from bench.fault.spec import Fault, Target
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.ports import LOOPBACK
from bench.stack import Stack

ServiceName = Literal["nats", "tidb"]
Link = tuple[ServiceName, str]

#: Those whose connections are the pipeline's. The harness's own eyes (validator, pulse, questions to
#: JetStream) go straight to the service: looked at through the fault, its end would be seen late.
NATS_CLIENTS = ("producer", "writer", "observer", "flush", "engine", "sink")
TIDB_CLIENTS = ("writer", "engine", "sink")


def links_of(target: Target) -> list[Link]:
    nats: list[Link] = [("nats", who) for who in NATS_CLIENTS if target in ("nats", who)]
    tidb: list[Link] = [("tidb", who) for who in TIDB_CLIENTS if target in ("tidb", who)]
    return nats + tidb


@dataclass(frozen=True)
class RoutedStack(Stack):
    """The same services; some clients reach them by another port."""

    ports: Mapping[Link, int] = field(default_factory=dict)

    def nats_for(self, who: str) -> NatsEndpoint:
        port = self.ports.get(("nats", who))
        endpoint = super().nats_for(who)
        return endpoint if port is None else replace(endpoint, host=LOOPBACK, port=port)

    def tidb_for(self, who: str) -> TidbEndpoint:
        port = self.ports.get(("tidb", who))
        endpoint = super().tidb_for(who)
        return endpoint if port is None else replace(endpoint, host=LOOPBACK, port=port)


class Routes:
    def __init__(self, stack: Stack, faults: Iterable[Fault]) -> None:
        wanted = {
            link for fault in faults if fault.kind in ("cut", "slow") for link in links_of(fault.target)
        }
        addresses: dict[ServiceName, tuple[str, int]] = {
            "nats": (stack.nats.endpoint.host, stack.nats.endpoint.port)
        }
        if stack.tidb is not None:
            addresses["tidb"] = (stack.database().host, stack.database().port)
        self._proxies = {link: Proxy(addresses[link[0]]) for link in sorted(wanted) if link[0] in addresses}
        ports = {link: proxy.port for link, proxy in self._proxies.items()}
        self.stack = RoutedStack(stack.provider, stack.nats, stack.tidb, stack.cluster, ports)

    def of(self, target: Target) -> list[Proxy]:
        return [self._proxies[link] for link in links_of(target) if link in self._proxies]

    def close(self) -> None:
        for proxy in self._proxies.values():
            proxy.close()
