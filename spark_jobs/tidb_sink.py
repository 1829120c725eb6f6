"""`writeStream.format("tidb")`: result rows straight from the executors into bench.window_results.

Each statement upserts up to `batchRows` rows and is committed by itself, so a task that Spark runs again
finds its rows there and changes nothing. A database that does not answer is tried again until
`retryTimeoutMs`; then the micro-batch fails, and is run again from the checkpoint when the job is restarted.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pymysql
from pymysql.connections import Connection
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from bench.contract.result import FIELDS
from bench.contract.table import COLUMNS, ON_DUPLICATE, TABLE

_RETRY_PAUSE_S = 0.25
#: Lock wait, deadlock, and TiDB's own: write conflict, schema changed, no region leader, server busy.
_PASSING = frozenset({1205, 1213, 8002, 8022, 8027, 8028, 9001, 9002, 9003, 9004, 9005, 9007})
#: Wrong password, unknown database, missing table: no use to try again.
_LASTING = frozenset({1044, 1045, 1049, 1142, 1146, 1054})
_GROUP = "(%s,%s,%s,%s,%s,%s,%s,%s)"
_connections: dict[tuple[int, TidbOptions], Connection[Any]] = {}


class TidbError(Exception):
    """The database refused a batch, or was gone for too long."""


@dataclass(frozen=True)
class TidbOptions:
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    variant: str = "spark"
    batch_rows: int = 500
    retry_timeout_ms: int = 30_000
    #: Speak TLS only, and only with a server whose certificate is good for this host.
    tls: bool = False


@dataclass
class Upserted(WriterCommitMessage):
    rows: int


class TidbSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidb"

    def streamWriter(self, schema: StructType, overwrite: bool) -> TidbWriter:  # noqa: ARG002, N802
        missing = [name for name in FIELDS if name not in schema.fieldNames()]
        if missing:
            raise ValueError(f"column {missing[0]} is missing: the table needs {', '.join(FIELDS)}")
        given = self.options
        options = TidbOptions(
            host=given.get("host", "127.0.0.1"),
            port=int(given.get("port", "4000")),
            user=given.get("user", "root"),
            password=given.get("password", ""),
            variant=given.get("variant", "spark"),
            batch_rows=int(given.get("batchRows", "500")),
            retry_timeout_ms=int(given.get("retryTimeoutMs", "30000")),
        )
        return TidbWriter(options)


class TidbWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: TidbOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Upserted:
        written = 0
        for batch in iterator:
            written += upsert_rows(self._options, [batch.column(name) for name in FIELDS])
        return Upserted(written)


def upsert_rows(options: TidbOptions, columns: Sequence[pa.Array]) -> int:
    """Store all rows, given as the columns of the contract's result; returns how many."""
    rows = list(zip(*[column.to_pylist() for column in columns], strict=True))
    for low in range(0, len(rows), options.batch_rows):
        _upsert(options, rows[low : low + options.batch_rows])
    return len(rows)


def _upsert(options: TidbOptions, rows: list[tuple[Any, ...]]) -> None:
    sql = f"INSERT INTO {TABLE} {COLUMNS} VALUES {','.join([_GROUP] * len(rows))} {ON_DUPLICATE}"
    values = [value for row in rows for value in (options.variant, *row)]
    deadline = time.monotonic() + options.retry_timeout_ms / 1000
    while True:
        try:
            connection = _connection(options)
            with connection.cursor() as cursor:
                cursor.execute(sql, values)
            connection.commit()
            return
        except (pymysql.err.Error, OSError) as error:
            _drop(options)
            code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            where = f"TiDB at {options.host}:{options.port}"
            if not _may_pass(error, code):
                raise TidbError(f"{where} refused {len(rows)} rows: {error}") from None
            if time.monotonic() >= deadline:
                bound = f"{options.retry_timeout_ms} ms"
                raise TidbError(f"{where} took no rows for {bound}: {error}") from None
            time.sleep(_RETRY_PAUSE_S)


def _may_pass(error: Exception, code: int) -> bool:
    if code in _LASTING:
        return False
    # InterfaceError: pymysql's own "connection is closed"; the statement itself is ours and constant.
    lost = isinstance(error, OSError | pymysql.err.OperationalError | pymysql.err.InterfaceError)
    return lost or code in _PASSING


def _connection(options: TidbOptions) -> Connection[Any]:
    """One connection per worker process; a fork does not share its parent's."""
    key = (os.getpid(), options)
    if key not in _connections:
        _connections[key] = pymysql.connect(
            host=options.host,
            port=options.port,
            user=options.user,
            password=options.password,
            autocommit=False,
            connect_timeout=5,
            read_timeout=30,
            write_timeout=30,
            ssl=ssl.create_default_context() if options.tls else None,
        )
    return _connections[key]


def _drop(options: TidbOptions) -> None:
    connection = _connections.pop((os.getpid(), options), None)
    if connection is not None:
        with contextlib.suppress(pymysql.err.Error, OSError):
            connection.close()
