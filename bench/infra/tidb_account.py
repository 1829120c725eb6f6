"""Accounts of a TiDB we run ourselves: a user that may touch one schema only, and a root nobody can guess."""

from __future__ import annotations

import pymysql
from pymysql.connections import Connection

from bench.infra.endpoint import TidbEndpoint

TIMEOUT_S = 5
ACCESS_DENIED = 1045
UNKNOWN_DATABASE = 1049


def connect_tidb(endpoint: TidbEndpoint, timeout_s: int = TIMEOUT_S) -> Connection:
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        database=endpoint.database or None,
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        autocommit=True,
    )


def ensure_account(endpoint: TidbEndpoint, root_password: str) -> None:
    """Make the endpoint's database and user if this server is new; raises while it is not up."""
    try:
        connect_tidb(endpoint).close()
    except pymysql.err.OperationalError as error:
        # A server that kept its data through a restart knows us; only a new one denies us.
        if error.args[0] not in (ACCESS_DENIED, UNKNOWN_DATABASE):
            raise
        _provision(endpoint, root_password)


def _provision(endpoint: TidbEndpoint, root_password: str) -> None:
    root = TidbEndpoint(endpoint.host, endpoint.port, "root", "", "")
    with connect_tidb(root) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{endpoint.database}`")
        cursor.execute(
            "CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (endpoint.user, endpoint.password)
        )
        cursor.execute(f"GRANT ALL ON `{endpoint.database}`.* TO %s@'%%'", (endpoint.user,))
        cursor.execute("ALTER USER 'root'@'%%' IDENTIFIED BY %s", (root_password,))


def query_version(endpoint: TidbEndpoint) -> str:
    with connect_tidb(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        row = cursor.fetchone()
    return str(row[0]) if row else ""
