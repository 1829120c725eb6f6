"""Accounts of a TiDB we run ourselves: a user that may touch one schema only, and a root nobody can guess."""

from __future__ import annotations

from dataclasses import replace

import pymysql
from pymysql.connections import Connection

from bench.infra.endpoint import TidbEndpoint

TIMEOUT_S = 5.0
PROVISION_TIMEOUT_S = 30.0
ACCESS_DENIED = 1045
DATABASE_DENIED = 1044
UNKNOWN_DATABASE = 1049


def connect_tidb(endpoint: TidbEndpoint, timeout_s: float = TIMEOUT_S) -> Connection:
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
        **endpoint.tls_options(),
    )


def ensure_account(endpoint: TidbEndpoint, root_password: str, timeout_s: float = TIMEOUT_S) -> None:
    """Make the endpoint's database and user if this server is new; raises while it is not up."""
    try:
        connect_tidb(endpoint, timeout_s).close()
    except pymysql.err.OperationalError as error:
        # A server that kept its data through a restart knows us; only a new one denies us.
        if error.args[0] not in (ACCESS_DENIED, DATABASE_DENIED, UNKNOWN_DATABASE):
            raise
        _provision(endpoint, root_password)


def _provision(endpoint: TidbEndpoint, root_password: str) -> None:
    """Every step can be repeated, and the user's grant is last: a broken attempt is seen and made good."""
    with _connect_root(endpoint, root_password) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER USER 'root'@'%%' IDENTIFIED BY %s", (root_password,))
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{endpoint.database}`")
        cursor.execute(
            "CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (endpoint.user, endpoint.password)
        )
        cursor.execute(f"GRANT ALL ON `{endpoint.database}`.* TO %s@'%%'", (endpoint.user,))


def _connect_root(endpoint: TidbEndpoint, root_password: str) -> Connection:
    root = TidbEndpoint(endpoint.host, endpoint.port, "root", root_password, "")
    try:
        return connect_tidb(root, PROVISION_TIMEOUT_S)
    except pymysql.err.OperationalError as error:
        if error.args[0] != ACCESS_DENIED:
            raise
    return connect_tidb(replace(root, password=""), PROVISION_TIMEOUT_S)


def query_version(endpoint: TidbEndpoint) -> str:
    with connect_tidb(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        row = cursor.fetchone()
    return str(row[0]) if row else ""
