"""A case run with faults: the same pipeline, hurt and mended at given moments, and watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.case import Case
from bench.contract.names import EVENTS, RESULTS, Durable
from bench.fault.recovery import (
    LOOK_AT_TABLE_EVERY_S,
    LOOK_EVERY_S,
    Recovery,
    RecoveryWatch,
    Struck,
    recoveries,
)
from bench.fault.routes import Routes
from bench.fault.spec import Fault, FaultError
from bench.fault.strikes import Strike, Victims, mend_quietly
from bench.fault.support import Expectation, check_order, expectation, faulted_case, placed, refusal
from bench.intervention import Intervention
from bench.outage import Outage
from bench.pipeline import Balance, Pipeline, PipelineBuilder, RunContext
from bench.run import BUILDERS, make_streams
from bench.stack import Stack
from bench.stream_admin import ACK_WAIT_S, StreamAdmin
from bench.table_output import TableOutput
from bench.wire.pull import AckPolicy
from bench.worker import Worker

Say = Callable[[str], None]


@dataclass(frozen=True)
class FaultedRun:
    """What goes into run_case in place of the ordinary case, stack and builder."""

    case: Case
    stack: Stack
    builder: PipelineBuilder
    interventions: tuple[Intervention, ...]


@contextmanager
def faulted(
    case: Case, stack: Stack, builder: PipelineBuilder | None, faults: Sequence[Fault], run_id: str, say: Say
) -> Iterator[FaultedRun]:
    """FaultError in one line, before anything starts, for a fault that this case cannot suffer."""
    check_faults(case, stack.provider, faults)
    whole = placed(faults, case)
    check_order(whole)
    hurt_case = faulted_case(case, whole)
    expected = expectation(whole, case)
    say(f"case {case.name} with {', '.join(map(str, whole))}: expected: {expected.told}")
    routes = Routes(stack, whole)
    inner = builder or BUILDERS[case.letter]
    book = _Book(expected)
    victims = Victims(
        stack,
        routes,
        getattr(inner, "engine", None),
        getattr(inner, "sink", None),
        None if expected.exact else lambda: _renew(book, victims, hurt_case, stack, run_id, inner),
        RESULTS if case.letter == "B" else EVENTS,
    )
    strikes = [(fault, victims.strike(fault)) for fault in whole]
    wrapped = FaultedBuilder(inner, victims, book, [strike for _, strike in strikes])
    try:
        yield FaultedRun(hurt_case, routes.stack, wrapped, tuple(_interventions(strikes, book)))
    finally:
        routes.close()


def check_faults(case: Case, provider: str, faults: Sequence[Fault]) -> None:
    for fault in faults:
        why = refusal(fault, case, provider)
        if why is not None:
            raise FaultError(f"--fault {fault}: {why}")


@dataclass
class _Book:
    """What happened when, in seconds of the run."""

    expected: Expectation
    now_s: Callable[[], float] = lambda: 0.0
    struck: list[Struck] = field(default_factory=list)
    #: Delivered before a server forgot its streams.
    delivered_before: int = 0


def _interventions(strikes: Sequence[tuple[Fault, Strike]], book: _Book) -> Iterator[Intervention]:
    for fault, strike in strikes:
        assert fault.at_s is not None
        began: list[float] = []

        def hurt(strike: Strike = strike, began: list[float] = began) -> None:
            strike.prepare()
            began.append(book.now_s())
            strike.hurt()

        def mend(fault: Fault = fault, strike: Strike = strike, began: list[float] = began) -> None:
            lifted_s = book.now_s()
            strike.mend()
            book.struck.append(Struck(fault, began[0], lifted_s))

        yield Intervention(fault.at_s, hurt)
        yield Intervention(fault.at_s + fault.duration_s, mend)


def _renew(
    book: _Book, victims: Victims, case: Case, stack: Stack, run_id: str, builder: PipelineBuilder
) -> None:
    observer: Any = victims.pipeline
    book.delivered_before = observer.seen
    make_streams(case, stack, run_id, builder)


class FaultedBuilder:
    """Wraps a case's builder; what it builds is watched."""

    def __init__(
        self, inner: PipelineBuilder, victims: Victims, book: _Book, strikes: Sequence[Strike]
    ) -> None:
        self._inner = inner
        self._victims = victims
        self._book = book
        self._strikes = strikes

    def consumers(self, case: Case) -> list[tuple[Durable, AckPolicy]]:
        return self._inner.consumers(case)

    def settings(self) -> Mapping[str, Any]:
        return self._inner.settings()

    @contextmanager
    def prepared(self, case: Case, run_id: str, stack: Stack, folder: Path) -> Iterator[None]:
        with self._inner.prepared(case, run_id, stack, folder):
            try:
                yield
            finally:
                # Before the engine is stopped: a frozen one could not end.
                for strike in self._strikes:
                    mend_quietly(strike)

    def __call__(self, context: RunContext) -> Pipeline:
        pipeline = self._inner(context)
        self._victims.pipeline = pipeline
        start_ns, clock = context.phases.start_ns, context.clock
        self._book.now_s = lambda: (clock.now_ns() - start_ns) / 1e9
        context.files.line(f"EXPECT {self._book.expected.told} run_id={context.run_id}")
        return FaultedPipeline(pipeline, context, self._book)


class FaultedPipeline:
    """The pipeline, and a thread that looks at its end often."""

    def __init__(self, inner: Pipeline, context: RunContext, book: _Book) -> None:
        self._inner = inner
        self._context = context
        self._book = book
        every_s = LOOK_AT_TABLE_EVERY_S if isinstance(inner.output, TableOutput) else LOOK_EVERY_S
        self._watch = RecoveryWatch(
            inner.output,
            context.schedule,
            context.clock,
            context.case.load.total,
            every_s,
            # Case B's rows are its messages: a row that was forgotten is missing, whatever came after it.
            by_count=context.case.letter == "B",
        )
        self.producer = inner.producer
        self.output = inner.output
        self.workers = [Worker("recovery", self._watch.run), *inner.workers]

    def drained(self) -> bool:
        return self._inner.drained()

    def received(self) -> int:
        return self._inner.received()

    def outages(self) -> list[Outage]:
        return self._inner.outages()

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        return self._inner.processes()

    def balance(self) -> Balance:
        balance = self._inner.balance()
        load = self._context.case.load
        found = recoveries(
            self._watch.looks,
            self._book.struck,
            load.warmup_s,
            load.warmup_s + load.measure_s,
            load.rate_per_s,
        )
        metrics = {**balance.metrics, **_metrics(found)}
        if not self._book.expected.exact:
            metrics |= self._loss(balance)
        account = balance.account
        details = {
            **balance.details,
            "faults": {
                "expectation": self._book.expected.told,
                "durability": durability(self._context.case),
                "ledger": {
                    "lost": account.lost,
                    "duplicates": account.duplicates,
                    "late": account.late,
                    "wrong": account.wrong,
                    "unexpected": account.unexpected,
                    "redelivered": account.redelivered,
                },
                "cells": [one.as_dict() for one in found],
            },
        }
        return replace(balance, metrics=metrics, details=details)

    def _loss(self, balance: Balance) -> dict[str, float | int | None]:
        """Counted by three who know nothing of each other: what the producer has acknowledgements for, what
        the new stream holds, and what had been delivered when the old one ended."""
        with StreamAdmin(self._context.stack.nats.endpoint) as admin:
            info = admin.stream(EVENTS)
        stored_after = info.state.messages if info is not None else 0
        expected = self.producer.acked - stored_after - self._book.delivered_before
        # Stored and delivered before, its answer lost, published again: there twice, acknowledged once.
        expected += balance.account.duplicates
        return {"lost_expected": expected, "lost_unexplained": abs(balance.account.lost - expected)}


def _metrics(found: Sequence[Recovery]) -> dict[str, float | int | None]:
    back = [one.lag_back_ms for one in found if one.lag_back_ms is not None]
    return {
        "faults_done": len(found),
        "faults_recovered": len(back),
        "outage_ms_max": max((one.outage_ms for one in found), default=None),
        "lag_back_ms_max": max(back, default=None),
        "lag_peak": max((one.lag_peak for one in found), default=None),
    }


def durability(case: Case) -> dict[str, Any]:
    """What the promise of no loss rests on."""
    transport = case.transport
    return {
        "storage": transport.storage,
        "replicas": transport.replicas,
        "sync_interval": "server default (2m)",
        "publish_acks": True,
        "message_ids": transport.message_ids,
        "consumer_acks": "all" if case.letter == "A" else "explicit",
        "ack_wait_s": ACK_WAIT_S,
        "engine_restart": None if case.windows is None else "from its checkpoint or its durable",
        "tidb": None if case.letter in "AC" else "upsert on the primary key",
    }
