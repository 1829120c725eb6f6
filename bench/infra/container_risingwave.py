"""RisingWave in a container, in the host's network: it must reach services that listen on loopback only.

`standalone` rather than `single_node`: the latter binds fixed ports, one of them on every interface.
"""

from __future__ import annotations

from typing import Any

from bench.infra.container_service import ContainerService
from bench.infra.endpoint import RisingWaveEndpoint
from bench.infra.errors import ServiceError
from bench.infra.ports import LOOPBACK
from bench.infra.risingwave_session import ask

#: Frontend (SQL), meta, dashboard, compute, compactor, the frontend's health check, and metrics.
PORTS = 7
MEMORY_BYTES = 2 << 30


class ContainerRisingWave(ContainerService):
    name = "risingwave"
    _container_ports = (0,) * PORTS
    _host_network = True

    @property
    def endpoint(self) -> RisingWaveEndpoint:
        if not self._ports:
            raise ServiceError("risingwave is not started")
        return RisingWaveEndpoint(LOOPBACK, self._ports[0])

    def version(self) -> str:
        return str(ask(self.endpoint, "SELECT version()"))

    def _prepare(self, container: Any) -> None:
        container.with_env("ENABLE_TELEMETRY", "false")
        container.with_command(standalone_command(self._ports))

    def _probe(self, timeout_s: float) -> None:
        ask(self.endpoint, "SELECT 1", timeout_s)

    def _secrets(self) -> list[str]:
        return []


def standalone_command(ports: list[int]) -> list[str]:
    """Every address on loopback, every file below /tmp of the container."""
    frontend, meta, dashboard, compute, compactor, health, metrics = (f"{LOOPBACK}:{port}" for port in ports)

    def node(address: str) -> str:
        return f"--listen-addr {address} --advertise-addr {address} --prometheus-listener-addr {metrics}"

    return [
        "standalone",
        f"--meta-opts=--listen-addr {meta} --advertise-addr {meta} --dashboard-host {dashboard} "
        f"--prometheus-host {metrics} --backend sqlite --sql-endpoint /tmp/jetlag-meta.db "
        "--state-store hummock+fs:///tmp/jetlag-state --data-directory hummock_001",
        f"--compute-opts={node(compute)} --total-memory-bytes {MEMORY_BYTES} --role both "
        f"--meta-address http://{meta}",
        f"--frontend-opts={node(frontend)} --health-check-listener-addr {health} --meta-addr http://{meta}",
        f"--compactor-opts={node(compactor)} --meta-address http://{meta}",
    ]
