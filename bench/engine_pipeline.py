"""What the engine cases share: the engine's life around a run, the truth, and the windowed figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from bench.case import Case, Windows
from bench.contract.names import Durable
from bench.engine.protocol import Engine, EngineJob, Sink
from bench.engine_probe import wait_for_output
from bench.engine_watch import EngineWatch
from bench.flush import Flusher
from bench.latency import LatencyRecorder, LatencySummary
from bench.outage import Outage
from bench.pipeline import Balance, Pipeline, RunContext, event_frames, make_producer, new_inbox
from bench.publish_frames import seq_range
from bench.result_table import TableContent
from bench.sampler import Output
from bench.schedule import Ints
from bench.stack import Stack
from bench.stored_sample import intended_to_stored
from bench.window_figures import window_metrics, windows_of
from bench.window_ledger import Truth
from bench.wire.pull import AckPolicy
from bench.worker import Worker

READY_TIMEOUT_S = 120.0


class EnginePipeline(ABC):
    """Producer, engine and its watch; subclasses add the end."""

    output: Output
    workers: list[Worker]

    @staticmethod
    @abstractmethod
    def consumers_of(case: Case) -> list[tuple[Durable, AckPolicy]]:
        """The durables that the harness needs; the engine makes its own."""

    @abstractmethod
    def drained(self) -> bool: ...

    @abstractmethod
    def received(self) -> int: ...

    @abstractmethod
    def balance(self) -> Balance: ...

    @abstractmethod
    def outages(self) -> list[Outage]: ...

    def __init__(self, context: RunContext, engine: Engine) -> None:
        inbox = new_inbox()
        self.context = context
        self.engine = engine
        self.producer = make_producer(context, event_frames(context, inbox), inbox)
        self.watch = EngineWatch(engine.variant, engine, context.files)
        producer_worker = Worker("producer", self.producer.run, urgent=True)
        #: Last in the list of workers: the rest must listen before the producer speaks.
        self.engine_workers = [Worker("engine", self.watch.run), *self._flushers(), producer_worker]

    def _flushers(self) -> list[Worker]:
        if not self.engine.needs_flush:
            return []
        producer = self.producer
        flusher = Flusher(
            self.context.stack.connect_nats,
            run_id=self.context.run_id,
            partitions=self.context.case.load.partitions,
            window_ms=self.windows.window_ms,
            all_sent=lambda: producer.settled >= producer.total,
        )
        return [Worker("flush", flusher.run)]

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        return {self.variant: self.engine.pids}

    @property
    def variant(self) -> str:
        return self.engine.variant

    @property
    def windows(self) -> Windows:
        assert self.context.case.windows is not None
        return self.context.case.windows

    def _intended_epoch_ns(self) -> Ints:
        """By seq; index 0 is unused."""
        seqs = seq_range(0, self.context.case.load.total)
        return self.context.schedule.intended_ns(seqs) + self.context.clock.epoch_offset_ns

    def truth(self) -> Truth:
        case = self.context.case
        return Truth(
            acked=self.producer.acked_flags(),
            intended_ms=self._intended_epoch_ns() // 1_000_000,
            num_keys=case.load.num_keys,
            window_ms=self.windows.window_ms,
            event_clock=self.windows.clock == "event",
            late_after_ms=case.late_after_s * 1000,
        )

    def windowed_metrics(self, rows: TableContent) -> dict[str, float | int | None]:
        context = self.context
        clock, phases = context.clock, context.phases

        def due_at_us(epoch_us: int) -> int:
            return min(context.schedule.due(epoch_us * 1000 - clock.epoch_offset_ns), context.case.load.total)

        metrics = window_metrics(
            windows_of(rows, due_at_us),
            from_ms=clock.epoch_ns(phases.measure_from_ns) // 1_000_000,
            to_ms=clock.epoch_ns(phases.measure_to_ns) // 1_000_000,
            window_ms=self.windows.window_ms,
            rate_per_s=context.case.load.rate_per_s,
            floor_ms=context.case.p99_floor_ms,
        )
        return {**metrics, "engine_down": self.watch.down}

    def measured(self, rows: TableContent, since_ms: Ints) -> LatencySummary:
        """Latencies of the rows whose window ended inside the measure time."""
        clock, phases = self.context.clock, self.context.phases
        from_ms = clock.epoch_ns(phases.measure_from_ns) // 1_000_000
        to_ms = clock.epoch_ns(phases.measure_to_ns) // 1_000_000
        inside = np.asarray((rows.window_end_ms > from_ms) & (rows.window_end_ms <= to_ms))
        recorder = LatencyRecorder()
        recorder.record((rows.db_insert_us - since_ms * 1000)[inside])
        return recorder.total

    def first_hop(self) -> LatencySummary:
        load = self.context.case.load
        first = load.rate_per_s * load.warmup_s + 1
        return intended_to_stored(
            self.context.stack.nats.endpoint, self._intended_epoch_ns(), first, self.producer.acked
        )


class EngineCase:
    """Builds an engine pipeline and keeps the engine running around it."""

    def __init__(self, engine: Engine, pipeline: type[EnginePipeline]) -> None:
        self.engine = engine
        self._pipeline = pipeline

    def consumers(self, case: Case) -> list[tuple[Durable, AckPolicy]]:
        return self._pipeline.consumers_of(case)

    def settings(self) -> Mapping[str, Any]:
        return self.engine.settings()

    @contextmanager
    def prepared(self, case: Case, run_id: str, stack: Stack, folder: Path) -> Iterator[None]:
        assert case.windows is not None
        sink: Sink = "tidb" if case.letter == "F" else "jetstream"
        job = EngineJob(
            run_id=run_id,
            case=case.letter,
            window_ms=case.windows.window_ms,
            window_clock=case.windows.clock,
            partitions=case.load.partitions,
            sink=sink,
            nats=stack.nats_for("engine"),
            tidb=stack.tidb_for("engine") if sink == "tidb" else None,
            folder=folder,
            lateness_s=case.windows.lateness_s,
        )
        try:
            self.engine.deploy(job)
            self.engine.wait_ready(READY_TIMEOUT_S)
            with self.way_on(job, stack):
                bound_s = READY_TIMEOUT_S + case.windows.window_ms / 1000
                wait_for_output(self.engine, job, stack, bound_s, in_table=case.letter in "EF")
                yield
        finally:
            self.engine.stop()

    def way_on(self, _job: EngineJob, _stack: Stack) -> AbstractContextManager[None]:
        """What must run behind the engine for a result to come out at the case's end."""
        return nullcontext()

    def __call__(self, context: RunContext) -> Pipeline:
        return self._pipeline(context, self.engine)
