"""Connections to TiDB, all alike: UTC, no autocommit, bounded waits."""

from __future__ import annotations

import time

import pymysql
from pymysql.connections import Connection as DatabaseConnection

from bench.contract.names import VARIANTS
from bench.contract.table import CREATE_TABLE, DATABASE, TABLE
from bench.infra.endpoint import TidbEndpoint

#: What a dead, restarting or refusing server raises; the statement may be tried on a new connection.
CONNECTION_ERRORS = (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError)

#: With the variants named, the primary key serves; by run_id alone the whole table would be read.
_OF_RUN = "variant IN %s AND run_id = %s"


def connect(endpoint: TidbEndpoint, timeout_s: float = 10.0) -> DatabaseConnection:
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        autocommit=False,
        connect_timeout=int(timeout_s),
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        # Timestamps are compared with epoch times: a session in local time would be hours off.
        init_command="SET time_zone = '+00:00'",
        **endpoint.tls_options(),
    )


def create_table(endpoint: TidbEndpoint) -> None:
    connection = connect(endpoint)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            cursor.execute(CREATE_TABLE)
        connection.commit()
    finally:
        connection.close()


def delete_run(endpoint: TidbEndpoint, run_id: str) -> None:
    """Remove a run's rows, in bites: one huge transaction can exceed TiDB's limit."""
    connection = connect(endpoint, timeout_s=60.0)
    try:
        with connection.cursor() as cursor:
            while cursor.execute(f"DELETE FROM {TABLE} WHERE {_OF_RUN} LIMIT 10000", (VARIANTS, run_id)):
                connection.commit()
        connection.commit()
    finally:
        connection.close()


def has_rows(endpoint: TidbEndpoint, run_id: str) -> bool:
    connection = connect(endpoint)
    try:
        with connection.cursor() as cursor:
            return cursor.execute(f"SELECT 1 FROM {TABLE} WHERE {_OF_RUN} LIMIT 1", (VARIANTS, run_id)) > 0
    finally:
        connection.close()


def clock_offset_ms(endpoint: TidbEndpoint, tries: int = 5) -> float:
    """How far TiDB's clock is ahead of ours, from the quickest of some round trips."""
    connection = connect(endpoint)
    best_rtt, offset = float("inf"), 0.0
    try:
        with connection.cursor() as cursor:
            for _ in range(tries):
                before = time.time_ns()
                cursor.execute("SELECT CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) * 1000000 AS SIGNED)")
                after = time.time_ns()
                connection.commit()
                row = cursor.fetchone()
                assert row is not None
                if after - before < best_rtt:
                    best_rtt = after - before
                    offset = row[0] / 1000 - (before + after) / 2e6
    finally:
        connection.close()
    return offset
