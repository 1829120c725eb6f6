"""Case A: producer → events.<p> → observer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.case import Case
from bench.contract.names import Durable, durable
from bench.ledger import account_events
from bench.observer import EventObserver
from bench.observer_output import ObserverOutput
from bench.outage import Outage
from bench.pipeline import (
    Balance,
    RunContext,
    event_frames,
    make_producer,
    new_inbox,
    no_engine,
    nothing_to_prepare,
)
from bench.sampler import Output
from bench.wire.pull import AckPolicy
from bench.worker import Worker


class PipelineA:
    prepared = staticmethod(nothing_to_prepare)
    settings = staticmethod(no_engine)

    @staticmethod
    def consumers(_case: Case) -> list[tuple[Durable, AckPolicy]]:
        return [(durable("A", "events"), "all")]

    def __init__(self, context: RunContext) -> None:
        inbox = new_inbox()
        frames = event_frames(context, inbox)
        consumer = self.consumers(context.case)[0][0]
        self.producer = make_producer(context, frames, inbox)
        self._observer = EventObserver(
            context.stack.connect_nats,
            consumer.stream,
            consumer.name,
            frames.layout,
            context.schedule,
            context.clock,
            context.phases,
            run_id=context.run_id,
            total=context.case.load.total,
            late_after_s=context.case.late_after_s,
        )
        self.output: Output = ObserverOutput(self._observer, "intended_to_stored")
        self.workers = [
            Worker("observer", self._observer.run, urgent=True),
            Worker("producer", self.producer.run, urgent=True),
        ]

    def drained(self) -> bool:
        return self._observer.ledger.seen >= self.producer.acked

    def received(self) -> int:
        return self._observer.received

    @property
    def seen(self) -> int:
        """Different events that have come out."""
        return self._observer.ledger.seen

    def balance(self) -> Balance:
        observer = self._observer
        account = account_events(
            observer.ledger,
            self.producer.acked_flags(),
            foreign=observer.foreign,
            late=observer.latency.late,
            redelivered=observer.redelivered,
        )
        hops = {
            "intended_to_stored": observer.to_stored.total,
            "stored_to_observed": observer.from_stored.total,
        }
        return Balance(account, observer.latency.measure.total, hops)

    def outages(self) -> list[Outage]:
        return [*self.producer.outage_log.outages, *self._observer.outage_log.outages]

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        return {}
