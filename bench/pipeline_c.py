"""Case C: producer → events.<p> → engine → results.<variant>.<p> → observer."""

from __future__ import annotations

from bench.case import Case
from bench.contract.names import Durable, durable
from bench.engine.protocol import Engine
from bench.engine_pipeline import EnginePipeline
from bench.observer_output import ObserverOutput
from bench.outage import Outage
from bench.pipeline import Balance, RunContext
from bench.result_observer import ResultObserver
from bench.window_ledger import account_windows
from bench.wire.pull import AckPolicy
from bench.worker import Worker


class PipelineC(EnginePipeline):
    @staticmethod
    def consumers_of(case: Case) -> list[tuple[Durable, AckPolicy]]:
        return [(durable("C", "results", case.variant), "explicit")]

    def __init__(self, context: RunContext, engine: Engine) -> None:
        super().__init__(context, engine)
        consumer = self.consumers_of(context.case)[0][0]
        self._observer = ResultObserver(
            context.stack.connect_nats,
            consumer.stream,
            consumer.name,
            context.clock,
            context.phases,
            run_id=context.run_id,
            late_after_s=context.case.late_after_s,
        )
        self.output = ObserverOutput(self._observer, "window_end_to_stored")
        self.workers = [Worker("observer", self._observer.run, urgent=True), *self.engine_workers]

    def drained(self) -> bool:
        return self._observer.counted >= self.producer.acked

    def received(self) -> int:
        return self._observer.received

    def balance(self) -> Balance:
        observer = self._observer
        rows = observer.rows()
        account = account_windows(
            rows,
            self.truth(),
            hidden_duplicates=0,
            stray=observer.malformed + observer.foreign,
            redelivered=observer.redelivered,
        )
        hops = {
            "intended_to_stored": self.first_hop(),
            "window_end_to_stored": observer.to_stored.total,
            "stored_to_observed": observer.from_stored.total,
            "producer_ts_to_observed": self.measured(rows, rows.producer_ts_ms),
        }
        latency = self.measured(rows, rows.window_end_ms)
        return Balance(account, latency, hops, self.windowed_metrics(rows))

    def outages(self) -> list[Outage]:
        return [*self.producer.outage_log.outages, *self._observer.outage_log.outages]
