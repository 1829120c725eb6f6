"""The services a run uses, and how its drivers connect to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection as DatabaseConnection

from bench.database import connect
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.service import Service
from bench.wire.connection import Connection, Server


@dataclass(frozen=True)
class Stack:
    provider: str
    nats: Service[NatsEndpoint]
    tidb: Service[TidbEndpoint] | None = None

    def services(self) -> dict[str, Service[Any]]:
        named: dict[str, Service[Any]] = {"nats": self.nats}
        if self.tidb is not None:
            named["tidb"] = self.tidb
        return named

    def connect_nats(self, name: str) -> Connection:
        endpoint = self.nats.endpoint
        server = Server(endpoint.host, endpoint.port, endpoint.user, endpoint.password, tls=endpoint.tls)
        return Connection(server, f"jetlag-{name}")

    def connect_database(self) -> DatabaseConnection:
        return connect(self.database())

    def database(self) -> TidbEndpoint:
        if self.tidb is None:
            raise ValueError("this case needs a database, and the stack has none")
        return self.tidb.endpoint
