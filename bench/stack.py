"""The services a run uses, and how its drivers connect to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection as DatabaseConnection

from bench.database import connect
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.nats_cluster import NatsCluster
from bench.infra.service import Service
from bench.wire.connection import Connection, Server


@dataclass(frozen=True)
class Stack:
    provider: str
    nats: Service[NatsEndpoint]
    tidb: Service[TidbEndpoint] | None = None
    #: Whose member `nats` is, if it has others beside it.
    cluster: NatsCluster | None = None

    def services(self) -> dict[str, Service[Any]]:
        named: dict[str, Service[Any]] = {"nats": self.nats}
        if self.tidb is not None:
            named["tidb"] = self.tidb
        return named

    def nats_for(self, _who: str) -> NatsEndpoint:
        """Where this client of the pipeline reaches NATS; with a fault on its link not where others do."""
        return self.nats.endpoint

    def tidb_for(self, _who: str) -> TidbEndpoint:
        return self.database()

    def connect_nats(self, name: str) -> Connection:
        endpoint = self.nats_for(name)
        server = Server(endpoint.host, endpoint.port, endpoint.user, endpoint.password, tls=endpoint.tls)
        return Connection(server, f"jetlag-{name}")

    def connect_database(self, who: str = "harness") -> DatabaseConnection:
        return connect(self.tidb_for(who))

    def database(self) -> TidbEndpoint:
        if self.tidb is None:
            raise ValueError("this case needs a database, and the stack has none")
        return self.tidb.endpoint
