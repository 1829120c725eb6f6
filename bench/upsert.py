"""Upserts into bench.window_results over a connection that is made anew when it breaks."""

from __future__ import annotations

import re
import select
import threading
import time
from collections.abc import Callable, Sequence
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
#: A database that hangs is given up and connected to again; shorter than what its own stalls take would
#: send batches twice.
ANSWER_WITHIN_S = 10.0
_HEAD = f"INSERT INTO {TABLE} {COLUMNS} VALUES ".encode()
_TAIL = f" {ON_DUPLICATE}".encode()
_DUPLICATES = re.compile(r"Duplicates: (\d+)")


class Upserter:
    """One connection with one batch under way; a batch whose fate is unknown is sent again, which the
    primary key makes harmless."""

    def __init__(self, connect: Callable[[], DatabaseConnection]) -> None:
        self._connect = connect
        self._connection: DatabaseConnection | None = connect()
        self._sql = b""
        self._count = 0
        self._begun_at = 0.0
        self._trouble: Exception | None = None

    @property
    def busy(self) -> bool:
        return bool(self._sql)

    def begin(self, rows: list[bytes]) -> None:
        """Send rows (see `row_text`) and their COMMIT; the answers are for `finish` to read."""
        self._sql, self._count = statement(rows), len(rows)
        self._begun_at = time.monotonic()
        self._send()

    def answered(self) -> bool:
        """Whether `finish` would not wait: an answer is there, or none will come."""
        overdue = time.monotonic() - self._begun_at > ANSWER_WITHIN_S
        return self._trouble is not None or overdue or readable([self.fileno()], 0.0)

    def fileno(self) -> int:
        """What to wait on; -1 if there is no connection at the moment."""
        sock = getattr(self._connection, "_sock", None)
        return -1 if sock is None or self._trouble is not None else int(sock.fileno())

    def finish(self, stop: threading.Event, on_trouble: Callable[[Exception], None]) -> int:
        """How many of the rows were new to the table; tries again for a while if that cannot be known."""
        deadline = time.monotonic() + GIVE_UP_AFTER_S
        while True:
            inserted = self._answer() if self._trouble is None else None
            if inserted is not None:
                self._sql = b""
                return inserted
            trouble, self._trouble = self._trouble, None
            assert trouble is not None
            self.close()
            on_trouble(trouble)
            if time.monotonic() > deadline or stop.wait(RETRY_AFTER_S):
                raise trouble
            self._send()

    def _send(self) -> None:
        """The statement and its COMMIT together: the server never waits for us in between.

        A statement that fails leaves nothing to commit. PyMySQL has no public way to do that; its version is
        pinned, and the tests against TiDB would tell.
        """
        try:
            self._connection = self._connection or self._connect()
            wire: Any = self._connection
            wire._execute_command(COMMAND.COM_QUERY, self._sql)
            wire._execute_command(COMMAND.COM_QUERY, b"COMMIT")
        except CONNECTION_ERRORS as error:
            self._trouble = error

    def _answer(self) -> int | None:
        wire: Any = self._connection
        try:
            if not readable([self.fileno()], max(0.0, self._begun_at + ANSWER_WITHIN_S - time.monotonic())):
                raise TimeoutError(f"no answer within {ANSWER_WITHIN_S:g} s")
            affected, message = int(wire._read_query_result()), _text(wire._result.message)
            wire._next_seq_id = 1  # packets of an answer are numbered from 1: a second answer starts over
            wire._read_query_result()
        except CONNECTION_ERRORS as error:
            self._trouble = error
            return None
        return _inserted(self._count, affected, message)

    def close(self) -> None:
        if self._connection is not None:
            # A broken connection is closed because it is broken: its complaint is old news.
            with suppress(*CONNECTION_ERRORS):
                self._connection.close()
            self._connection = None


def readable(files: Sequence[int], timeout_s: float) -> bool:
    """Whether one of the files has something to read within the time; -1 counts for none."""
    poll = select.poll()
    for file in files:
        if file >= 0:
            poll.register(file, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def statement(rows: list[bytes]) -> bytes:
    """One upsert of all rows; UTF-8, as every connection of ours speaks."""
    return _HEAD + b",".join(rows) + _TAIL


def row_text(variant: str, result: Result) -> bytes:
    """The row as the text of one VALUES group."""
    numbers = (result.window_end_ms, result.count, result.sum_value, result.seq, result.producer_ts_ms)
    return row_start(variant, result.run_id) + row_end(result.key, *numbers)


def row_start(variant: str, run_id: str) -> bytes:
    """What all rows of a run begin with."""
    return f"('{variant}','{escape_string(run_id)}','".encode()


def row_end(key: str, window_end_ms: int, count: int, sum_value: int, seq: int, producer_ts_ms: int) -> bytes:
    name = escape_string(key)
    return f"{name}',{window_end_ms},{count},{sum_value},{seq},{producer_ts_ms})".encode()


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
