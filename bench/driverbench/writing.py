"""Our writer, and the bare loop that only sends its statements: the same rows, the same table.

Time runs from each one's first commit on: to connect takes as long as several batches.
"""

from __future__ import annotations

import time

import psutil

from bench.clock import RunClock
from bench.contract.result import mock_result
from bench.contract.table import TABLE
from bench.database import connect
from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import PATIENCE_S, RUN_ID, Spent, wait_for
from bench.driverbench.stopwatch import Stopwatch
from bench.infra.endpoint import TidbEndpoint
from bench.infra.local_tidb import LocalTidb
from bench.phases import Phases
from bench.upsert import row_text, statement
from bench.worker import Worker
from bench.writer import Writer, WriterSettings

BATCH_ROWS = 500


class Sink:
    """The one database of both."""

    def __init__(self, service: LocalTidb) -> None:
        self.endpoint: TidbEndpoint = service.endpoint
        self._processes = [psutil.Process(pid) for pid in service.pids()]

    def cpu_s(self) -> float:
        times = [process.cpu_times() for process in self._processes]
        return sum(time.user + time.system for time in times)

    def empty(self) -> None:
        """Both start from an empty table: an index that grows would punish who comes second."""
        self._execute(f"TRUNCATE TABLE {TABLE}")

    def rows(self) -> int:
        return self._execute(f"SELECT COUNT(*) FROM {TABLE}")

    def _execute(self, sql: str) -> int:
        connection = connect(self.endpoint)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                row = cursor.fetchone()
            connection.commit()
        finally:
            connection.close()
        return int(row[0]) if row else 0


def write(broker: Broker, sink: Sink, rows: int) -> Spent:
    """The stream holds `rows` mock results; they are read, written, committed, counted and acknowledged."""
    sink.empty()
    clock = RunClock()
    phases = Phases(clock.now_ns(), clock.now_ns(), 2**62)
    with broker.reader("explicit") as consumer:
        writer = Writer(
            broker.connect,
            lambda: connect(sink.endpoint),
            STREAM,
            consumer,
            clock,
            phases,
            run_id=RUN_ID,
            variant="mock",
            settings=WriterSettings(BATCH_ROWS),
        )
        worker = Worker("writer", writer.run)
        worker.start()
        wait_for(worker, lambda: writer.committed > 0, PATIENCE_S)
        watch, before, cpu_before_s = Stopwatch(sink.cpu_s), writer.committed, worker.cpu_now_s()
        wait_for(worker, lambda: writer.committed >= rows, PATIENCE_S)
        watch.stop()
        cpu_s = worker.cpu_now_s() - cpu_before_s
        worker.join(PATIENCE_S)
    _check(sink, rows, "the writer")
    return Spent(watch.elapsed_s, cpu_s, watch.process_cpu_s, watch.server_cpu_s, rows - before)


def insert(sink: Sink, rows: int) -> Spent:
    """Statements made beforehand, sent and committed one after the other."""
    sink.empty()
    now_ms = time.time_ns() // 1_000_000
    texts = [row_text("mock", mock_result(RUN_ID, seq, now_ms, rows)) for seq in range(1, rows + 1)]
    statements = [
        statement(texts[first : first + BATCH_ROWS]).decode() for first in range(0, rows, BATCH_ROWS)
    ]
    connection = connect(sink.endpoint)
    try:
        with connection.cursor() as cursor:
            cursor.execute(statements[0])
            connection.commit()
            watch = Stopwatch(sink.cpu_s)
            for one in statements[1:]:
                cursor.execute(one)
                connection.commit()
            watch.stop()
    finally:
        connection.close()
    _check(sink, rows, "the bare loop")
    cpu_s = watch.process_cpu_s
    return Spent(watch.elapsed_s, cpu_s, cpu_s, watch.server_cpu_s, rows - BATCH_ROWS)


def _check(sink: Sink, rows: int, who: str) -> None:
    found = sink.rows()
    if found != rows:
        raise TurnFailed(f"{who} left {found} rows in the table, wanted {rows}")
