"""TiDB as a process of this machine, on its embedded single-node store (unistore)."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from bench.infra.binary import tidb_server_binary
from bench.infra.endpoint import TidbEndpoint
from bench.infra.local_service import LocalService
from bench.infra.ports import LOOPBACK
from bench.infra.private_file import write_private
from bench.infra.tidb_account import ensure_account, query_version

USER = "jetlag"
DATABASE = "bench"


class LocalTidb(LocalService):
    name = "tidb"

    def __init__(self) -> None:
        super().__init__()
        self._password = secrets.token_hex(16)
        self._root_password = secrets.token_hex(16)

    @property
    def endpoint(self) -> TidbEndpoint:
        self._leash()
        return TidbEndpoint(LOOPBACK, self._ports[0], USER, self._password, DATABASE)

    def binary(self) -> Path:
        return tidb_server_binary()

    def version(self) -> str:
        return query_version(self.endpoint)

    def _configure(self, folder: Path) -> list[str]:
        port, status_port = self._ports
        path = write_private(folder / "tidb.toml", render_config(folder, port, status_port))
        return [str(self.binary()), "-config", str(path)]

    def _probe(self, timeout_s: float) -> None:
        ensure_account(self.endpoint, self._root_password, timeout_s)

    def _secrets(self) -> list[str]:
        return [self._password, self._root_password]


def render_config(folder: Path, port: int, status_port: int) -> str:
    """Every path that TiDB writes to lies in `folder`; its defaults would litter /tmp."""

    def inside(name: str) -> str:
        return json.dumps(str(folder / name))

    return f"""\
host = "{LOOPBACK}"
advertise-address = "{LOOPBACK}"
port = {port}
store = "unistore"
path = {inside("store")}
socket = {inside("tidb.sock")}
temp-dir = {inside("tmp")}
tmp-storage-path = {inside("tmp-storage")}

[log]
level = "warn"
slow-query-file = {inside("slow.log")}

[status]
status-host = "{LOOPBACK}"
status-port = {status_port}
"""
