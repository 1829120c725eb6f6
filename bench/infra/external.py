"""Services that somebody else runs: only questioned, never started, stopped or harmed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NoReturn

import pymysql

from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.errors import ServiceError
from bench.infra.nats_probe import probe_nats
from bench.infra.service import READY_TIMEOUT_S
from bench.infra.tidb_account import connect_tidb, query_version

CONNECT_TIMEOUT_S = 5


class ExternalService(ABC):
    name: str
    kind: Literal["external"] = "external"
    container_id: None = None
    environment: Mapping[str, str] = MappingProxyType({})  # not ours to tell

    @abstractmethod
    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None: ...

    @abstractmethod
    def version(self) -> str: ...

    def start(self) -> None:  # noqa: B027 - doing nothing is the point
        """Nothing to start; wait_ready tells whether it is there."""

    def stop(self) -> None:  # noqa: B027
        """Not ours to stop."""

    def log_tail(self, lines: int = 40) -> str:  # noqa: ARG002
        return ""

    def pids(self) -> list[int]:
        return []

    def build_id(self) -> str:
        return f"external:{self.version()}"

    def kill(self) -> None:
        self._not_ours("kill")

    def restart(self) -> None:
        self._not_ours("restart")

    def pause(self) -> None:
        self._not_ours("pause")

    def resume(self) -> None:
        self._not_ours("resume")

    def _not_ours(self, fault: str) -> NoReturn:
        raise ServiceError(f"cannot {fault} an external {self.name}: faults need --infra=local or containers")


class ExternalNats(ExternalService):
    name = "nats"

    def __init__(self, endpoint: NatsEndpoint) -> None:
        self.endpoint = endpoint

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Asked once: an address that does not answer is most often a wrong one, and waiting hides that."""
        try:
            probe_nats(self.endpoint, min(timeout_s, CONNECT_TIMEOUT_S))
        except (OSError, ValueError) as error:
            raise ServiceError(f"NATS cannot be reached at {self.endpoint.url}: {error}") from error

    def version(self) -> str:
        return str(probe_nats(self.endpoint, CONNECT_TIMEOUT_S)["version"])


class ExternalTidb(ExternalService):
    name = "tidb"

    def __init__(self, endpoint: TidbEndpoint) -> None:
        self.endpoint = endpoint

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Asked once, for the same reason as NATS."""
        try:
            connect_tidb(self.endpoint, max(1, int(min(timeout_s, CONNECT_TIMEOUT_S)))).close()
        except (pymysql.err.MySQLError, OSError, RuntimeError) as error:
            why = error.args[-1] if error.args else error
            raise ServiceError(f"TiDB cannot be used at {self.endpoint.url}: {why}") from error

    def version(self) -> str:
        return query_version(self.endpoint)
