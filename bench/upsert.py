"""Upserts into bench.window_results over one connection that is made anew when it breaks."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pymysql.connections import Connection as DatabaseConnection
from pymysql.constants import COMMAND
from pymysql.converters import escape_string

from bench.contract.result import Result
from bench.contract.table import COLUMNS, ON_DUPLICATE, TABLE
from bench.database import CONNECTION_ERRORS

GIVE_UP_AFTER_S = 60.0
RETRY_AFTER_S = 0.2
_DUPLICATES = re.compile(r"Duplicates: (\d+)")


class Upserter:
    """Commits rows; a batch whose fate is unknown is sent again, which the primary key makes harmless."""

    def __init__(self, connect: Callable[[], DatabaseConnection]) -> None:
        self._connect = connect
        self._connection: DatabaseConnection | None = connect()
        self.retries = 0

    def commit(
        self,
        rows: list[str],
        stop: threading.Event,
        on_trouble: Callable[[Exception], None],
        meanwhile: Callable[[], None] | None = None,
    ) -> int:
        """Upsert and commit `rows` (see `row_text`); returns how many were new to the table.

        `meanwhile` is called while the database works on the statement; it must not raise.
        """
        sql = f"INSERT INTO {TABLE} {COLUMNS} VALUES {','.join(rows)} {ON_DUPLICATE}"
        deadline = time.monotonic() + GIVE_UP_AFTER_S
        while True:
            try:
                return self._commit_once(sql, len(rows), meanwhile)
            except CONNECTION_ERRORS as error:
                self.close()
                self.retries += 1
                on_trouble(error)
                if time.monotonic() > deadline or stop.wait(RETRY_AFTER_S):
                    raise

    def _commit_once(self, sql: str, count: int, meanwhile: Callable[[], None] | None) -> int:
        connection = self._connection = self._connection or self._connect()
        if meanwhile is None:
            with connection.cursor() as cursor:
                affected = cursor.execute(sql)
                outcome = getattr(cursor, "_result", None)
            connection.commit()
        else:
            affected, outcome = _pipelined(connection, sql, meanwhile)
        return _inserted(count, affected, _text(getattr(outcome, "message", b"")))

    def close(self) -> None:
        if self._connection is not None:
            # A broken connection is closed because it is broken: its complaint is old news.
            with suppress(*CONNECTION_ERRORS):
                self._connection.close()
            self._connection = None


def _pipelined(
    connection: DatabaseConnection, sql: str, meanwhile: Callable[[], None]
) -> tuple[int, object | None]:
    """Send the statement and its COMMIT together, and read both answers after `meanwhile`.

    The server never waits for us in between, nor we for it. A statement that fails leaves nothing to commit.
    PyMySQL has no public way to do that; its version is pinned, and the tests against TiDB would tell.
    """
    wire: Any = connection
    wire._execute_command(COMMAND.COM_QUERY, sql.encode(connection.encoding))
    wire._execute_command(COMMAND.COM_QUERY, b"COMMIT")
    meanwhile()
    affected, outcome = int(wire._read_query_result()), wire._result
    wire._next_seq_id = 1  # packets of an answer are numbered from 1: a second answer starts over
    wire._read_query_result()
    return affected, outcome


def row_text(variant: str, result: Result) -> str:
    """The row as the text of one VALUES group."""
    numbers = (result.window_end_ms, result.count, result.sum_value, result.seq, result.producer_ts_ms)
    return row_start(variant, result.run_id) + row_end(result.key, *numbers)


def row_start(variant: str, run_id: str) -> str:
    """What all rows of a run begin with."""
    return f"('{variant}','{escape_string(run_id)}','"


def row_end(key: str, window_end_ms: int, count: int, sum_value: int, seq: int, producer_ts_ms: int) -> str:
    # Letters and digits need no escaping, and escaping costs as much as all the rest of the row.
    name = key if key.isalnum() else escape_string(key)
    return f"{name}',{window_end_ms},{count},{sum_value},{seq},{producer_ts_ms})"


def _inserted(count: int, affected: int, message: str) -> int:
    """How many of `count` upserted rows were new.

    MySQL counts 1 for an inserted row, 2 for a changed one, 0 for one that was there and the same;
    the number of changed ones stands in the message of a statement with several rows.
    """
    found = _DUPLICATES.search(message)
    changed = int(found[1]) if found else affected // 2 if count == 1 else 0
    return affected - 2 * changed


def _text(message: bytes | str) -> str:
    return message.decode(errors="replace") if isinstance(message, bytes) else message
