"""Engines that the user runs: only given jobs, never started, stopped or harmed."""

from __future__ import annotations

from bench.infra.arroyo_api import ArroyoApi, ArroyoError
from bench.infra.endpoint import RisingWaveEndpoint
from bench.infra.errors import ServiceError
from bench.infra.external import CONNECT_TIMEOUT_S, ExternalService
from bench.infra.risingwave_session import ask
from bench.infra.service import READY_TIMEOUT_S


class ExternalArroyo(ExternalService):
    name = "arroyo"

    def __init__(self, url: str) -> None:
        self.url = url

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Asked once: an address that does not answer is most often a wrong one, and waiting hides that."""
        try:
            ArroyoApi(self.url).ping(min(timeout_s, CONNECT_TIMEOUT_S))
        except (ArroyoError, OSError) as error:
            raise ServiceError(f"Arroyo cannot be used at {self.url}: {error}") from error

    def running(self) -> bool:
        return True  # its pipelines tell

    def version(self) -> str:
        return "unknown"


class ExternalRisingWave(ExternalService):
    name = "risingwave"

    def __init__(self, endpoint: RisingWaveEndpoint) -> None:
        self.endpoint = endpoint

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Asked once, for the same reason as Arroyo."""
        ask(self.endpoint, "SELECT 1", min(timeout_s, CONNECT_TIMEOUT_S))

    def running(self) -> bool:
        return True  # its event log tells

    def version(self) -> str:
        return str(ask(self.endpoint, "SELECT version()"))
