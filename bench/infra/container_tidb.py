"""TiDB in a container, on its embedded single-node store (unistore)."""

from __future__ import annotations

import secrets
from typing import Any

from bench.infra.container_service import ContainerService
from bench.infra.endpoint import TidbEndpoint
from bench.infra.errors import ServiceError
from bench.infra.ports import LOOPBACK
from bench.infra.tidb_account import ensure_account, query_version

USER = "jetlag"
DATABASE = "bench"
PORT = 4000
CONFIG_PATH = "/jetlag/tidb.toml"
CONFIG = f"""\
host = "0.0.0.0"
port = {PORT}
store = "unistore"
path = "/jetlag/store"
socket = "/jetlag/tidb.sock"
temp-dir = "/jetlag/tmp"
tmp-storage-path = "/jetlag/tmp-storage"

[log]
level = "warn"
slow-query-file = "/jetlag/slow.log"
"""


class ContainerTidb(ContainerService):
    name = "tidb"
    _container_ports = (PORT,)

    def __init__(self, image: str) -> None:
        super().__init__(image)
        self._password = secrets.token_hex(16)
        self._root_password = secrets.token_hex(16)

    @property
    def endpoint(self) -> TidbEndpoint:
        if self._container is None:
            raise ServiceError("tidb is not started")
        return TidbEndpoint(LOOPBACK, self._ports[0], USER, self._password, DATABASE)

    def version(self) -> str:
        return query_version(self.endpoint)

    def _prepare(self, container: Any) -> None:
        container.with_copy_into_container(CONFIG.encode(), CONFIG_PATH, 0o644)
        container.with_command(["-config", CONFIG_PATH])

    def _probe(self, timeout_s: float) -> None:
        ensure_account(self.endpoint, self._root_password, timeout_s)

    def _secrets(self) -> list[str]:
        return [self._password, self._root_password]
