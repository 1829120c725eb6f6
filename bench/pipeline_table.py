"""Cases D and F: producer → events.<p> → engine → (results.<variant>.<p> → writer →) TiDB."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

from bench.case import Case
from bench.contract.names import FLUSH_KEY, Durable, durable
from bench.contract.table import TABLE
from bench.database import CONNECTION_ERRORS, clock_offset_ms
from bench.engine.protocol import Engine
from bench.engine_pipeline import EnginePipeline
from bench.latency import LatencySummary
from bench.outage import Outage
from bench.pipeline import Balance, RunContext
from bench.result_table import TableContent
from bench.table_output import TableOutput
from bench.validator import Validator, read_table
from bench.window_ledger import account_windows
from bench.wire.pull import AckPolicy
from bench.worker import Worker
from bench.writer import Writer

#: While draining, the table's total is asked for this often: it reads all of the run's rows.
COUNT_EVERY_S = 0.5


class TablePipeline(EnginePipeline):
    """What D and F share: the table at the end."""

    def __init__(self, context: RunContext, engine: Engine) -> None:
        super().__init__(context, engine)
        self._offset_before_ms = clock_offset_ms(context.stack.database())
        self.validator = Validator(
            context.stack.connect_database, run_id=context.run_id, variant=self.variant
        )
        self.validator_worker = Worker("validator", self.validator.run)
        self._counted = 0
        self._counted_at = 0.0

    def drained(self) -> bool:
        if time.monotonic() - self._counted_at >= COUNT_EVERY_S:
            with suppress(*CONNECTION_ERRORS):  # a database that is away now is asked again later
                self._counted = self._count_events()
            self._counted_at = time.monotonic()
        return self._counted >= self.producer.acked

    def received(self) -> int:
        return self.validator.state.rows

    def _count_events(self) -> int:
        connection = self.context.stack.connect_database()
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT CAST(COALESCE(SUM(`count`), 0) AS SIGNED) FROM {TABLE} "
                    "WHERE variant = %s AND run_id = %s AND `key` <> %s",
                    (self.variant, self.context.run_id, FLUSH_KEY),
                )
                row = cursor.fetchone()
                return int(row[0]) if row else 0
        finally:
            connection.close()

    def balance_of_table(
        self,
        *,
        hidden_duplicates: int,
        stray: int,
        redelivered: int,
        hops: dict[str, LatencySummary],
        details: dict[str, Any],
    ) -> Balance:
        rows = self._rows()
        account = account_windows(
            rows, self.truth(), hidden_duplicates=hidden_duplicates, stray=stray, redelivered=redelivered
        )
        offset_ms = max(self._offset_before_ms, clock_offset_ms(self.context.stack.database()), key=abs)
        state = self.validator.state
        return Balance(
            account,
            self.measured(rows, rows.window_end_ms),
            {
                "intended_to_stored": self.first_hop(),
                **hops,
                "producer_ts_to_inserted": self.measured(rows, rows.producer_ts_ms),
            },
            {
                **self.windowed_metrics(rows),
                "clock_offset_ms": offset_ms,
                "clock_offset_ms_abs": abs(offset_ms),
            },
            {
                **details,
                "validator": {
                    "polls": state.polls,
                    "failed_polls": self.validator.failed_polls,
                    "rows_seen_by_polls": state.rows,
                },
            },
        )

    def _rows(self) -> TableContent:
        connection = self.context.stack.connect_database()
        try:
            return read_table(connection, run_id=self.context.run_id, variant=self.variant)
        finally:
            connection.close()


class PipelineD(TablePipeline):
    @staticmethod
    def consumers_of(case: Case) -> list[tuple[Durable, AckPolicy]]:
        return [(durable("D", "results", case.variant), "explicit")]

    def __init__(self, context: RunContext, engine: Engine) -> None:
        super().__init__(context, engine)
        consumer = self.consumers_of(context.case)[0][0]
        self.writer = Writer(
            context.stack.connect_nats,
            partial(context.stack.connect_database, "writer"),
            consumer.stream,
            consumer.name,
            context.clock,
            context.phases,
            run_id=context.run_id,
            variant=self.variant,
        )
        further = {"window_end_to_committed": self.writer.commit_latency}
        self.output = TableOutput(self.validator, further)
        self.workers = [
            self.validator_worker,
            Worker("writer", self.writer.run),
            *self.engine_workers,
        ]

    def balance(self) -> Balance:
        writer = self.writer
        return self.balance_of_table(
            hidden_duplicates=writer.hidden_duplicates(writer.distinct),
            stray=writer.stray,
            redelivered=writer.redelivered,
            hops={"window_end_to_committed": writer.commit_latency.total},
            details={"writer": {"received": writer.received, "rows_already_in_table": writer.db_had}},
        )

    def outages(self) -> list[Outage]:
        return [*self.producer.outage_log.outages, *self.writer.outage_log.outages]


class PipelineF(TablePipeline):
    @staticmethod
    def consumers_of(_case: Case) -> list[tuple[Durable, AckPolicy]]:
        return []

    def __init__(self, context: RunContext, engine: Engine) -> None:
        super().__init__(context, engine)
        self.output = TableOutput(self.validator, {})
        self.workers = [self.validator_worker, *self.engine_workers]

    def balance(self) -> Balance:
        # The engine's own upsert hides what it wrote twice; only wrong totals would show.
        return self.balance_of_table(hidden_duplicates=0, stray=0, redelivered=0, hops={}, details={})

    def outages(self) -> list[Outage]:
        return list(self.producer.outage_log.outages)
