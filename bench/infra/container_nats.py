"""NATS in a container."""

from __future__ import annotations

import os
import secrets
from typing import Any

from bench.infra.container_service import ContainerService
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.nats_config import ClusterSeat, NatsConfig, go_runtime
from bench.infra.nats_probe import probe_nats
from bench.infra.ports import LOOPBACK

USER = "jetlag"
PORT, MONITOR_PORT = 4222, 8222
CONFIG_PATH = "/jetlag/nats.conf"
STORE_PATH = "/jetlag/jetstream"


class ContainerNats(ContainerService):
    name = "nats"
    _container_ports = (PORT, MONITOR_PORT)

    def __init__(
        self,
        image: str,
        seat: ClusterSeat | None = None,
        password: str = "",
        sync_interval: str | None = None,
    ) -> None:
        super().__init__(image, network=seat.cluster if seat else None)
        self.environment = go_runtime(os.environ)
        self._seat = seat
        self._sync_interval = sync_interval
        self._password = password or secrets.token_hex(16)

    @property
    def endpoint(self) -> NatsEndpoint:
        if self._container is None:
            raise ServiceError("nats is not started")
        port, monitor_port = self._ports
        return NatsEndpoint(LOOPBACK, port, USER, self._password, monitor_port)

    def version(self) -> str:
        return str(probe_nats(self.endpoint)["version"])

    def _prepare(self, container: Any) -> None:
        config = NatsConfig(
            "0.0.0.0",
            PORT,
            MONITOR_PORT,
            STORE_PATH,
            USER,
            self._password,
            seat=self._seat,
            sync_interval=self._sync_interval,
        )
        if self._seat:
            # The other servers reach this one by its name, inside the network that they share.
            container.with_network_aliases(self._seat.name)
        # Copied in, not mounted: the engine may be on another machine, and `docker inspect` shows no secret.
        container.with_copy_into_container(config.render().encode(), CONFIG_PATH, 0o600)
        container.with_envs(**self.environment)
        container.with_command(["--config", CONFIG_PATH])

    def _probe(self, timeout_s: float) -> None:
        probe_nats(self.endpoint, timeout_s)

    def _secrets(self) -> list[str]:
        return [self._password, *([self._seat.password] if self._seat else [])]
