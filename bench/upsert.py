"""Upserts into bench.window_results over one connection that is made anew when it breaks."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pymysql.connections import Connection as DatabaseConnection
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
        self, rows: list[str], stop: threading.Event, on_trouble: Callable[[Exception], None]
    ) -> int:
        """Upsert and commit `rows` (see `row_text`); returns how many were new to the table."""
        sql = f"INSERT INTO {TABLE} {COLUMNS} VALUES {','.join(rows)} {ON_DUPLICATE}"
        deadline = time.monotonic() + GIVE_UP_AFTER_S
        while True:
            try:
                return self._commit_once(sql, len(rows))
            except CONNECTION_ERRORS as error:
                self.close()
                self.retries += 1
                on_trouble(error)
                if time.monotonic() > deadline or stop.wait(RETRY_AFTER_S):
                    raise

    def _commit_once(self, sql: str, count: int) -> int:
        if self._connection is None:
            self._connection = self._connect()
        with self._connection.cursor() as cursor:
            affected = cursor.execute(sql)
            outcome = getattr(cursor, "_result", None)
        self._connection.commit()
        return _inserted(count, affected, _text(getattr(outcome, "message", b"")))

    def close(self) -> None:
        if self._connection is not None:
            # A broken connection is closed because it is broken: its complaint is old news.
            with suppress(*CONNECTION_ERRORS):
                self._connection.close()
            self._connection = None


def row_text(variant: str, result: Result) -> str:
    """The row as the text of one VALUES group."""
    return (
        f"('{variant}','{escape_string(result.run_id)}','{escape_string(result.key)}',{result.window_end_ms},"
        f"{result.count},{result.sum_value},{result.seq},{result.producer_ts_ms})"
    )


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
