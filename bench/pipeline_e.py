"""Case E: producer → events.<p> → engine → results.<variant>.<p> → Bento → TiDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.bento.sink import BentoSink, SinkJob
from bench.case import Case
from bench.contract.names import Durable, durable
from bench.engine.protocol import Engine, EngineJob
from bench.engine_pipeline import READY_TIMEOUT_S, EngineCase
from bench.engine_watch import EngineWatch
from bench.outage import Outage
from bench.pipeline import Balance, Pipeline, RunContext
from bench.pipeline_table import TablePipeline
from bench.result_observer import ResultObserver
from bench.result_table import TableContent
from bench.stack import Stack
from bench.stream_admin import StreamAdmin
from bench.table_output import TableOutput
from bench.wire.pull import AckPolicy
from bench.worker import Worker


class PipelineE(TablePipeline):
    """Bento counts nothing for us: a witness reads RESULTS, or the upsert would hide a doubled result."""

    @staticmethod
    def consumers_of(case: Case) -> list[tuple[Durable, AckPolicy]]:
        return [(durable("E", "witness", case.variant), "explicit")]

    def __init__(self, context: RunContext, engine: Engine, sink: BentoSink) -> None:
        super().__init__(context, engine)
        consumer = self.consumers_of(context.case)[0][0]
        self._sink = sink
        self._sink_watch = EngineWatch("bento", sink, context.files, kind="sink")
        self._witness = ResultObserver(
            context.stack.connect_nats,
            consumer.stream,
            consumer.name,
            context.clock,
            context.phases,
            run_id=context.run_id,
            late_after_s=context.case.late_after_s,
        )
        self.output = TableOutput(self.validator, {"window_end_to_stored": self._witness.to_stored})
        self.workers = [
            self.validator_worker,
            Worker("witness", self._witness.run),
            Worker("sink", self._sink_watch.run),
            *self.engine_workers,
        ]

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        return {**super().processes(), "sink": self._sink.pids}

    def balance(self) -> Balance:
        witness = self._witness
        results = witness.rows()
        balance = self.balance_of_table(
            hidden_duplicates=doubled_rows(results),
            stray=witness.malformed + witness.foreign,
            redelivered=self._redelivered(),
            hops={"window_end_to_stored": witness.to_stored.total},
            details={"witness": {"results": len(results), "redelivered": witness.redelivered}},
        )
        balance.metrics["sink_down"] = self._sink_watch.down
        return balance

    def _redelivered(self) -> int:
        """Deliveries to Bento beyond one of each message, by the server's own count."""
        with StreamAdmin(self.context.stack.nats.endpoint) as admin:
            delivered = admin.consumer(durable("E", "results", self.variant)).delivered
        return max(0, delivered.consumer_seq - delivered.stream_seq) if delivered is not None else 0

    def outages(self) -> list[Outage]:
        return [*self.producer.outage_log.outages, *self._witness.outage_log.outages]


def doubled_rows(rows: TableContent) -> int:
    """Rows beyond one of each key and window."""
    return len(rows) - len(set(zip(rows.keys, rows.window_end_ms.tolist(), strict=True)))


class BentoCase(EngineCase):
    """An engine case with Bento behind the engine."""

    def __init__(self, engine: Engine, sink: BentoSink) -> None:
        super().__init__(engine, PipelineE)
        self.sink = sink

    def settings(self) -> Mapping[str, Any]:
        return {**self.engine.settings(), "sink": self.sink.settings()}

    @contextmanager
    def way_on(self, job: EngineJob, stack: Stack) -> Iterator[None]:
        results = durable("E", "results", self.engine.variant)
        try:
            nats, tidb = stack.nats_for("sink"), stack.tidb_for("sink")
            self.sink.deploy(SinkJob(job.run_id, self.engine.variant, results, nats, tidb))
            self.sink.wait_ready(READY_TIMEOUT_S)
            yield
        finally:
            self.sink.stop()

    def __call__(self, context: RunContext) -> Pipeline:
        return PipelineE(context, self.engine, self.sink)
