"""Talks to RisingWave over the Postgres protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg

from bench.infra.endpoint import RisingWaveEndpoint
from bench.infra.errors import ServiceError

CONNECT_TIMEOUT_S = 5.0


def ask(endpoint: RisingWaveEndpoint, question: str, timeout_s: float = CONNECT_TIMEOUT_S) -> Any:
    """The first value of the first row; ServiceError in one line when it cannot be had."""
    return _session(endpoint, [question], timeout_s)


def execute(endpoint: RisingWaveEndpoint, statements: Iterable[str]) -> None:
    """In one session, one after the other: a SET holds for those that follow."""
    _session(endpoint, statements, CONNECT_TIMEOUT_S)


def _session(endpoint: RisingWaveEndpoint, statements: Iterable[str], timeout_s: float) -> Any:
    try:
        # Autocommit: RisingWave refuses DDL inside a transaction.
        with psycopg.connect(
            host=endpoint.host,
            port=endpoint.port,
            user=endpoint.user,
            password=endpoint.password or None,
            dbname=endpoint.database,
            connect_timeout=max(1, int(timeout_s)),
            autocommit=True,
        ) as connection:
            value = None
            for statement in statements:
                # Our own files with their values quoted; the server takes no parameters in DDL.
                cursor = connection.execute(statement, prepare=False)
                row = cursor.fetchone() if cursor.description else None
                value = row[0] if row else None
            return value
    except psycopg.Error as error:
        text = " ".join(str(error).split())
        raise ServiceError(f"RisingWave at {endpoint.url}: {text}") from None
