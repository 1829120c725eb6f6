"""Arroyo in a container, in the host's network: it must reach services that listen on loopback only."""

from __future__ import annotations

from typing import Any

from bench.infra.arroyo_api import ArroyoApi
from bench.infra.container_service import ContainerService
from bench.infra.errors import ServiceError
from bench.infra.ports import LOOPBACK

#: Arroyo's services and what each calls its port. Workers keep the address that Arroyo gives them: the
#: controller calls them by the machine's own.
SERVICES = {
    "API": "HTTP_PORT",
    "CONTROLLER": "RPC_PORT",
    "COMPILER": "RPC_PORT",
    "NODE": "RPC_PORT",
    "ADMIN": "HTTP_PORT",
}


class ContainerArroyo(ContainerService):
    name = "arroyo"
    _container_ports = (0,) * len(SERVICES)
    _host_network = True

    @property
    def url(self) -> str:
        if not self._ports:
            raise ServiceError("arroyo is not started")
        return f"http://{LOOPBACK}:{self._ports[0]}"

    def version(self) -> str:
        return self._image

    def _prepare(self, container: Any) -> None:
        for (service, port_name), port in zip(SERVICES.items(), self._ports, strict=True):
            container.with_env(f"ARROYO__{service}__BIND_ADDRESS", LOOPBACK)
            container.with_env(f"ARROYO__{service}__{port_name}", str(port))
        container.with_command(["cluster"])

    def _probe(self, timeout_s: float) -> None:
        ArroyoApi(self.url).ping(timeout_s)

    def _secrets(self) -> list[str]:
        return []
