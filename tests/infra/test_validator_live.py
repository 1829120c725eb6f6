"""The validator against a real TiDB: what a poll sees, and what it costs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from decimal import Decimal

import pytest
from pymysql.connections import Connection

from bench.contract.result import mock_result
from bench.contract.table import COLUMNS, TABLE
from bench.database import connect, create_table, delete_run
from bench.upsert import row_text
from bench.validator import _POLL, Validator, read_table

pytestmark = pytest.mark.infra

NUM_KEYS = 11
BATCH = 500


class Table:
    """Rows of one run in the real table."""

    def __init__(self, stack, run_id: str) -> None:
        self.stack, self.run_id = stack, run_id
        self.connection: Connection = connect(stack.database())
        self.rows = 0
        self._epoch_ms = time.time_ns() // 1_000_000

    def add(self, count: int, variant: str = "mock") -> None:
        last = self.rows + count
        while self.rows < last:
            seqs = range(self.rows + 1, min(self.rows + BATCH, last) + 1)
            results = [mock_result(self.run_id, seq, self._epoch_ms + seq, NUM_KEYS) for seq in seqs]
            values = b",".join(row_text(variant, result) for result in results).decode()
            with self.connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {TABLE} {COLUMNS} VALUES {values}")
            self.connection.commit()
            self.rows = seqs[-1]

    def one(self, sql: str):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, (self.run_id,))
            row = cursor.fetchone()
        self.connection.commit()
        return row[0]

    def newest_us(self) -> int:
        return self.one(
            "SELECT CAST(UNIX_TIMESTAMP(MAX(db_insert_ts)) * 1000000 AS SIGNED) "
            f"FROM {TABLE} WHERE run_id = %s"
        )

    def explain(self, newer_than_us: int) -> list[dict[str, str]]:
        """The poll's plan as it was carried out, an operator a row."""
        with self.connection.cursor() as cursor:
            scope = ("mock", self.run_id, Decimal(newer_than_us).scaleb(-6))
            cursor.execute(f"EXPLAIN ANALYZE {_POLL}", scope)
            names = [column[0] for column in cursor.description]
            plan = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        self.connection.commit()
        return plan


@pytest.fixture
def table(full_stack, request) -> Iterator[Table]:
    create_table(full_stack.database())
    made = Table(full_stack, re.sub("[^a-z0-9_]", "_", request.node.name)[:40])
    yield made
    made.connection.close()
    delete_run(full_stack.database(), made.run_id)


def scan_of(plan: list[dict[str, str]]) -> dict[str, str]:
    (scan,) = (row for row in plan if "Scan" in row["id"])
    return scan


def test_polls_see_each_row_once(full_stack, table):
    """Rows of one microsecond would be counted by two polls, or by none."""
    validator = Validator(full_stack.connect_database, run_id=table.run_id, variant="mock")
    validator._poll()
    assert validator.state.rows == 0
    for batch in range(1, 31):
        table.add(7)
        for _ in range(2):  # the second sees nothing new
            validator._poll()
            assert (validator.state.rows, validator.state.max_seq) == (7 * batch, 7 * batch)
    assert validator.state.latency.total.count == table.rows
    validator._close()


def test_a_poll_sees_only_its_run_and_variant(full_stack, table):
    """The rows of an earlier run would count for this one."""
    table.add(20)
    table.add(5, variant="spark")
    for run_id, variant, rows in (
        (table.run_id, "spark", 5),
        ("nobody", "mock", 0),
        (table.run_id, "mock", 20),
    ):
        validator = Validator(full_stack.connect_database, run_id=run_id, variant=variant)
        validator._poll()
        assert validator.state.rows == rows
        validator._close()


def test_latencies_are_those_of_the_rows(full_stack, table):
    """The DB line would show a latency in another unit, or in another time zone."""
    table.add(40)
    validator = Validator(full_stack.connect_database, run_id=table.run_id, variant="mock")
    validator._poll()
    content = read_table(table.connection, run_id=table.run_id, variant="mock")
    exact_ms = sorted((content.db_insert_us - content.window_end_ms * 1000) / 1000)
    polled = validator.state.latency.total.summary()
    assert polled["max"] / 1000 == pytest.approx(max(0, exact_ms[-1]), abs=1.5)
    assert polled["p50"] / 1000 == pytest.approx(max(0, exact_ms[19]), abs=2.5)
    validator._close()


def test_the_cost_of_a_poll_does_not_grow_with_the_table(full_stack, table):
    """A long run would be slowed down by its own validator, and the slower the longer it runs."""
    read: list[int] = []
    for earlier in (1_000, 20_000):
        table.add(earlier - table.rows)
        border_us = table.newest_us()
        table.add(BATCH)
        plan = table.explain(border_us)
        assert not [row["id"] for row in plan if "FullScan" in row["id"] or "TableRangeScan" in row["id"]]
        scan = scan_of(plan)
        assert "IndexRangeScan" in scan["id"]
        assert "index:by_insert_time" in scan["access object"]
        read.append(int(scan["actRows"]))
    assert read == [BATCH, BATCH]


def test_a_poll_reads_the_index_alone(full_stack, table):
    """Each new row would cost a second read in the table."""
    table.add(10)
    operators = [row["id"] for row in table.explain(0)]
    assert any("IndexReader" in operator for operator in operators)
    assert not any("LookUp" in operator for operator in operators)


def test_the_whole_table_is_read_and_nothing_else(full_stack, table):
    """The account of a run would miss rows, or hold another run's."""
    table.add(1_234)
    table.add(7, variant="arroyo")
    content = read_table(table.connection, run_id=table.run_id, variant="mock")
    assert len(content) == 1_234
    assert sorted(content.seq.tolist()) == list(range(1, 1_235))
    assert all(
        key == f"k{seq % NUM_KEYS}" for key, seq in zip(content.keys, content.seq.tolist(), strict=True)
    )
    assert (content.sum_value == 3 * content.seq + 1).all()
    assert (content.count == 1).all()
    assert (content.window_end_ms == content.producer_ts_ms).all()
    now_us = time.time_ns() // 1000
    assert (
        (content.db_insert_us > now_us - 600_000_000) & (content.db_insert_us < now_us + 600_000_000)
    ).all()
    assert len(read_table(table.connection, run_id=table.run_id, variant="arroyo")) == 7
    assert len(read_table(table.connection, run_id="nobody", variant="mock")) == 0
