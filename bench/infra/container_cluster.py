"""The NATS cluster in containers: three of them in a network of their own, in which they find each other."""

from __future__ import annotations

import secrets
from contextlib import ExitStack, suppress
from typing import Any

import docker
import docker.errors

from bench.infra.container_nats import ContainerNats
from bench.infra.container_service import DOCKER_ERRORS
from bench.infra.docker_engine import first_line
from bench.infra.errors import InfraError
from bench.infra.nats_cluster import NatsCluster, Node, node_names, seats

ROUTE_PORT = 6222


def container_cluster(image: str, sync_interval: str | None = None) -> NatsCluster:
    network = f"jetlag-{secrets.token_hex(6)}"
    around = ExitStack()

    def make(interval: str | None) -> dict[str, Node]:
        _ensure_network(network, around)
        addresses = [(name, name, ROUTE_PORT) for name in node_names()]
        password = secrets.token_hex(16)
        return {
            seat.name: ContainerNats(image, seat, password, interval)
            for seat in seats(addresses, network, "0.0.0.0")
        }

    return NatsCluster(make, sync_interval, around)


def _ensure_network(name: str, around: ExitStack) -> None:
    """Made once; the containers' leashes remove it should we die, see reaper.py."""
    try:
        client = docker.from_env(timeout=20)
        if not client.networks.list(names=[name]):
            around.callback(_remove_network, client, client.networks.create(name, driver="bridge"))
    except DOCKER_ERRORS as error:
        raise InfraError(f"no network for the NATS cluster: {first_line(str(error))}") from None


def _remove_network(client: Any, network: Any) -> None:
    with suppress(docker.errors.NotFound):
        network.remove()
    client.close()
