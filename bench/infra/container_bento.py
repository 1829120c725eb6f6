"""Bento in a container, in the host's network: it must reach services that listen on loopback only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.infra.bento_http import get_ready, get_version
from bench.infra.container_service import PROBE_TIMEOUT_S, ContainerService
from bench.infra.errors import ServiceError
from bench.infra.ports import LOOPBACK

CONFIG_PATH = "/jetlag/bento.yaml"


class ContainerBento(ContainerService):
    name = "bento"
    _container_ports = (0,)
    _host_network = True

    def __init__(self, image: str, configure: Callable[[str], str], secrets: Sequence[str]) -> None:
        super().__init__(image)
        self._render = configure
        self._hidden = list(secrets)

    @property
    def address(self) -> str:
        if not self._ports:
            raise ServiceError("bento is not started")
        return f"{LOOPBACK}:{self._ports[0]}"

    def version(self) -> str:
        return get_version(self.address, PROBE_TIMEOUT_S)

    def _prepare(self, container: Any) -> None:
        container.with_copy_into_container(self._render(self.address).encode(), CONFIG_PATH, 0o644)
        container.with_command(["-c", CONFIG_PATH])

    def _probe(self, timeout_s: float) -> None:
        get_ready(self.address, timeout_s)

    def _secrets(self) -> list[str]:
        return self._hidden
