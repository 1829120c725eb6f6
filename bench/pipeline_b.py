"""Case B: mock results → results.mock.<p> → writer → TiDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from bench.case import Case
from bench.contract.names import Durable, durable
from bench.database import clock_offset_ms
from bench.latency import LatencyRecorder, LatencySummary
from bench.ledger import account_mock_rows
from bench.outage import Outage
from bench.pipeline import (
    Balance,
    RunContext,
    make_producer,
    mock_frames,
    new_inbox,
    no_engine,
    nothing_to_prepare,
)
from bench.publish_frames import seq_range
from bench.result_table import TableContent
from bench.sampler import Output
from bench.schedule import Ints
from bench.table_output import TableOutput
from bench.validator import Validator, read_table
from bench.wire.pull import AckPolicy
from bench.worker import Worker
from bench.writer import Writer


class PipelineB:
    prepared = staticmethod(nothing_to_prepare)
    settings = staticmethod(no_engine)

    @staticmethod
    def consumers(_case: Case) -> list[tuple[Durable, AckPolicy]]:
        return [(durable("B", "results"), "explicit")]

    def __init__(self, context: RunContext) -> None:
        self._context = context
        inbox = new_inbox()
        consumer = self.consumers(context.case)[0][0]
        self._offset_before_ms = clock_offset_ms(context.stack.database())
        self.producer = make_producer(context, mock_frames(context, inbox), inbox)
        self.writer = Writer(
            context.stack.connect_nats,
            partial(context.stack.connect_database, "writer"),
            consumer.stream,
            consumer.name,
            context.clock,
            context.phases,
            run_id=context.run_id,
            variant="mock",
        )
        self._validator = Validator(context.stack.connect_database, run_id=context.run_id, variant="mock")
        self.output: Output = TableOutput(
            self._validator, {"window_end_to_committed": self.writer.commit_latency}
        )
        self.workers = [
            Worker("validator", self._validator.run),
            Worker("writer", self.writer.run),
            Worker("producer", self.producer.run, urgent=True),
        ]

    def drained(self) -> bool:
        return self.writer.committed - self.writer.repeats >= self.producer.acked

    def received(self) -> int:
        return self.writer.received

    def balance(self) -> Balance:
        context = self._context
        connection = context.stack.connect_database()
        try:
            table = read_table(connection, run_id=context.run_id, variant="mock")
        finally:
            connection.close()
        intended_ns = context.schedule.intended_ns(seq_range(0, context.case.load.total))
        account = account_mock_rows(
            table,
            self.producer.acked_flags(),
            (intended_ns + context.clock.epoch_offset_ns) // 1_000_000,
            num_keys=context.case.load.num_keys,
            hidden_duplicates=self.writer.hidden_duplicates(self.producer.sent),
            malformed=self.writer.stray,
            late_after_ms=context.case.late_after_s * 1000,
            redelivered=self.writer.redelivered,
        )
        offset_ms = max(self._offset_before_ms, clock_offset_ms(context.stack.database()), key=abs)
        return Balance(
            account,
            self._measured(table, table.window_end_ms),
            {
                "producer_ts_to_inserted": self._measured(table, table.producer_ts_ms),
                "window_end_to_committed": self.writer.commit_latency.total,
            },
            {"clock_offset_ms": offset_ms, "clock_offset_ms_abs": abs(offset_ms)},
            {
                "writer": {
                    "received": self.writer.received,
                    "redelivered": self.writer.redelivered,
                    "committed": self.writer.committed,
                    "rows_already_in_table": self.writer.db_had,
                    "stray": self.writer.stray,
                },
                "validator": {
                    "polls": self._validator.state.polls,
                    "failed_polls": self._validator.failed_polls,
                    "rows_seen_by_polls": self._validator.state.rows,
                },
            },
        )

    def _measured(self, table: TableContent, since_ms: Ints) -> LatencySummary:
        """Latencies of the rows meant for the measure window."""
        phases, clock = self._context.phases, self._context.clock
        border_ms = clock.epoch_ns(phases.measure_from_ns) // 1_000_000
        measured = np.asarray(table.window_end_ms >= border_ms)
        recorder = LatencyRecorder()
        recorder.record((table.db_insert_us - since_ms * 1000)[measured])
        return recorder.total

    def outages(self) -> list[Outage]:
        return [*self.producer.outage_log.outages, *self.writer.outage_log.outages]

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        return {}
