"""The statement that the writer sends, and what it makes of the server's answer."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import pymysql
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pymysql.constants import COMMAND

from bench import upsert
from bench.contract.result import Result
from bench.contract.table import COLUMNS
from bench.upsert import Upserter, _inserted, row_text

relaxed = settings(deadline=None)  # a busy machine is no finding


@pytest.mark.parametrize(
    ("new", "changed", "same"),
    [(1, 0, 0), (0, 1, 0), (0, 0, 1), (500, 0, 0), (0, 500, 0), (0, 0, 500), (3, 2, 1), (1, 1, 0), (0, 1, 1)],
)
def test_new_rows_are_told_from_those_already_there(new: int, changed: int, same: int) -> None:
    """If this fails, duplicates that the upsert hides are counted as new rows."""
    count, affected = new + changed + same, new + 2 * changed
    # A statement with one row has no message; of several the server tells how many it changed.
    message = f"Records: {count}  Duplicates: {changed}  Warnings: 0" if count > 1 else ""
    assert _inserted(count, affected, message) == new


# -- text --------------------------------------------------------------------------

_LITERAL = re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "Z": "\x1a", "t": "\t", "b": "\b"}


def unescaped(literal: str) -> str:
    """A string literal as MySQL reads it."""
    return re.sub(r"\\(.)|''", lambda m: _ESCAPES.get(m[1], m[1]) if m[1] else "'", literal, flags=re.DOTALL)


bigints = st.integers(-(2**63), 2**63 - 1)


@relaxed
@given(st.text(), bigints)
@example("'); DROP TABLE bench.window_results; --", 0)
@example("\\", 0)
@example("\\'", 0)
@example("%s {0} \0\x1a\r\n\"'`", 0)
def test_a_hostile_key_stays_a_key(key: str, number: int) -> None:
    """If this fails, a key out of a message becomes part of the statement."""
    text = row_text("spark", Result("run-1", key, number, 2, 3, 4, 5)).decode()
    first, second = _LITERAL.match(text, 1), _LITERAL.match(text, len("('spark',"))
    assert first is not None
    assert first[1] == "spark"
    assert second is not None
    assert second[1] == "run-1"
    third = _LITERAL.match(text, second.end() + 1)
    assert third is not None
    assert unescaped(third[1]) == key
    assert text[third.end() :] == f",{number},2,3,4,5)"
    assert text[0] == "("


# -- the connection ------------------------------------------------------------------


def committed(upserter: Upserter, rows: list[bytes], stop: threading.Event, on_trouble) -> int:
    upserter.begin(rows)
    return upserter.finish(stop, on_trouble)


class Database:
    """A connection: fails as told, then answers."""

    def __init__(self, failures: list[Exception], affected: int = 2, message: bytes = b"") -> None:
        self._failures = failures
        self._affected = affected
        self._result = SimpleNamespace(message=message)
        self.statements: list[bytes] = []
        self.commits = self.opened = self.closed = 0

    def connect(self) -> Database:
        self.opened += 1
        return self

    def _execute_command(self, command: int, sql: bytes) -> None:
        assert command == COMMAND.COM_QUERY
        if sql == b"COMMIT":
            self.commits += 1
            return
        self.statements.append(sql)
        if self._failures:
            raise self._failures.pop(0)

    def _read_query_result(self) -> int:
        return self._affected

    def close(self) -> None:
        self.closed += 1
        raise OSError("it was broken before")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upsert, "RETRY_AFTER_S", 0.0)
    monkeypatch.setattr(upsert, "readable", lambda _files, _timeout_s: True)


def test_one_statement_a_batch() -> None:
    """If this fails, the writer pays a round trip a row, or writes into the wrong columns."""
    database = Database([], affected=4, message=b"Records: 3  Duplicates: 1  Warnings: 0")
    rows = [row_text("mock", Result("run", f"k{i}", i, 1, 1, i, i)) for i in range(3)]
    upserter = Upserter(database.connect)
    assert committed(upserter, rows, threading.Event(), lambda _error: None) == 2
    [sql] = database.statements
    head = f"INSERT INTO bench.window_results {COLUMNS} VALUES ".encode()
    assert sql.startswith(head + rows[0] + b"," + rows[1] + b",")
    assert b" ON DUPLICATE KEY UPDATE " in sql
    assert database.commits == 1


def test_a_broken_connection_is_made_anew_and_the_batch_sent_again() -> None:
    """If this fails, a restart of the database loses a batch or ends the run."""
    failures: list[Exception] = [pymysql.err.OperationalError(2013, "Lost connection"), OSError("reset")]
    database = Database(list(failures), affected=1)
    upserter = Upserter(database.connect)
    troubles: list[Exception] = []
    assert committed(upserter, [b"(1)"], threading.Event(), troubles.append) == 1
    assert troubles == failures
    assert (database.opened, database.closed, database.commits) == (3, 2, 1)
    assert len(set(database.statements)) == 1
    assert len(database.statements) == 3


def test_a_refused_statement_is_not_sent_again() -> None:
    """If this fails, a row that the table cannot hold keeps the writer busy for a minute."""
    database = Database([pymysql.err.DataError(1406, "Data too long")])
    upserter = Upserter(database.connect)
    with pytest.raises(pymysql.err.DataError):
        committed(upserter, [b"(1)"], threading.Event(), lambda _error: None)
    assert len(database.statements) == 1


def test_trying_ends_with_a_stop_or_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a database that stays away keeps the run from ending."""
    gone = pymysql.err.OperationalError(2003, "Can't connect")
    stop = threading.Event()
    stop.set()
    database = Database([gone] * 100)
    with pytest.raises(pymysql.err.OperationalError):
        committed(Upserter(database.connect), [b"(1)"], stop, lambda _error: None)
    assert len(database.statements) == 1
    monkeypatch.setattr(upsert, "GIVE_UP_AFTER_S", -1.0)
    with pytest.raises(pymysql.err.OperationalError):
        committed(Upserter(database.connect), [b"(1)"], threading.Event(), lambda _error: None)
    assert len(database.statements) == 2


def test_close_may_be_called_at_any_time() -> None:
    """If this fails, the end of a run hides its result behind an old complaint."""
    database = Database([])
    upserter = Upserter(database.connect)
    upserter.close()
    upserter.close()
    assert database.closed == 1
