"""The database validator: what TiDB holds of this run, polled while it runs and read whole at its end.

A poll reads only what is new and the last moments before, through the index by_insert_time: its cost does not
grow with the table. The last moments again, because of two connections the one that began first may commit
last. A row that became visible later still (a commit that hung) can escape a poll; it cannot escape the final
read, from which the run's figures are made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from pymysql.connections import Connection as DatabaseConnection
from pymysql.cursors import SSCursor

from bench.contract.table import TABLE
from bench.database import CONNECTION_ERRORS
from bench.latency import LatencyRecorder
from bench.result_table import ResultRow, TableContent

_EPOCH_US = "CAST(UNIX_TIMESTAMP(db_insert_ts) * 1000000 AS SIGNED)"

#: Commits may overtake each other by this much without escaping the polls.
OVERLAP_US = 1_000_000

#: By statement (its rows have one timestamp) and by latency in ms, so that a poll returns hundreds of rows
#: and not tens of thousands.
_POLL = f"""
SELECT {_EPOCH_US} AS inserted_us, {_EPOCH_US} DIV 1000 - window_end_ms AS latency_ms, COUNT(*), MAX(seq)
FROM {TABLE} USE INDEX (by_insert_time)
WHERE variant = %s AND run_id = %s AND db_insert_ts > FROM_UNIXTIME(%s)
GROUP BY inserted_us, latency_ms
"""

_ALL = f"""
SELECT `key`, window_end_ms, `count`, sum_value, seq, producer_ts_ms, {_EPOCH_US}
FROM {TABLE} WHERE variant = %s AND run_id = %s
"""


@dataclass
class TableState:
    """What the polls have seen so far."""

    rows: int = 0
    max_seq: int = 0
    polls: int = 0
    latency: LatencyRecorder = field(default_factory=LatencyRecorder)


class Validator:
    """Polls when asked; a database that does not answer leaves the last state standing."""

    def __init__(self, connect: Callable[[], DatabaseConnection], *, run_id: str, variant: str) -> None:
        self._connect = connect
        self._scope = (variant, run_id)
        self._newest_us = self._settled_us = 0
        self._newest_seen_s = 0.0
        #: Rows by timestamp and latency that the last poll saw: of these only more are news.
        self._counted: dict[tuple[int, int], int] = {}
        self._wanted = threading.Event()
        self._wanted.set()  # the first poll connects and makes the plan: before anything waits for it
        self._done = threading.Event()
        self._connection: DatabaseConnection | None = None
        self.state = TableState()
        self.failed_polls = 0

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                if not self._wanted.wait(0.1):
                    continue
                self._wanted.clear()
                try:
                    self._poll()
                except CONNECTION_ERRORS:
                    self.failed_polls += 1
                    self._close()
                self._done.set()
        finally:
            self._close()

    def refresh(self, wait_s: float) -> TableState:
        """Ask for a poll and wait for it at most `wait_s`; returns the state there is."""
        self._done.clear()
        self._wanted.set()
        self._done.wait(wait_s)
        return self.state

    def _poll(self) -> None:
        if self._connection is None:
            self._connection = self._connect()
        with self._connection.cursor() as cursor:
            # A decimal of six places: a quotient of SQL has four, and rows in between would count twice.
            since_s = Decimal(self._since_us()).scaleb(-6)
            cursor.execute(_POLL, (*self._scope, since_s))
            groups = cursor.fetchall()
        self._connection.commit()  # the next poll must read a new snapshot
        state = self.state
        counted, self._counted = self._counted, {}
        newest_before_us = self._newest_us
        latencies_ms: list[int] = []
        fresh: list[int] = []
        for inserted_us, latency_ms, count, max_seq in groups:
            self._counted[inserted_us, latency_ms] = count
            latencies_ms.append(latency_ms)
            fresh.append(max(0, count - counted.get((inserted_us, latency_ms), 0)))
            state.max_seq = max(state.max_seq, max_seq)
            self._newest_us = max(self._newest_us, inserted_us)
        if self._newest_us > newest_before_us:
            self._newest_seen_s = time.monotonic()
        state.rows += sum(fresh)
        state.latency.record(np.repeat(np.array(latencies_ms, np.int64) * 1000, fresh))
        state.polls += 1

    def _since_us(self) -> int:
        """Where the next poll begins. Once nothing newer has come for a while, at the newest row: else every
        poll between two windows would read thousands of rows again, a quarter of a core of TiDB's.
        """
        if time.monotonic() - self._newest_seen_s > 2e-6 * OVERLAP_US:
            self._settled_us = self._newest_us
        return max(self._settled_us, self._newest_us - OVERLAP_US, 0)

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(*CONNECTION_ERRORS):
                self._connection.close()
            self._connection = None


def read_table(connection: DatabaseConnection, *, run_id: str, variant: str) -> TableContent:
    """The run's rows, streamed: a whole result set in memory first would take gigabytes."""
    return TableContent.of_rows(list(_stream(connection, (variant, run_id))))


def _stream(connection: DatabaseConnection, scope: tuple[str, str]) -> Iterator[ResultRow]:
    with connection.cursor(SSCursor) as cursor:
        cursor.execute(_ALL, scope)
        yield from cursor
    connection.commit()
