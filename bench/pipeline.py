"""What a case's wiring gives to the runner, whichever case it is."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench.case import Case
from bench.clock import RunClock
from bench.contract.names import EVENTS, RESULTS, Durable, events_subject, results_subject
from bench.latency import LatencySummary
from bench.ledger import Account
from bench.outage import Outage
from bench.phases import Phases
from bench.producer import Producer, tick_s
from bench.publish_frames import EventFrames, FrameShape, MockResultFrames
from bench.runfiles import RunFiles
from bench.sampler import Output
from bench.schedule import ConstantRate
from bench.stack import Stack
from bench.wire.pull import AckPolicy
from bench.worker import Worker


@dataclass(frozen=True)
class RunContext:
    """What every part of a run needs to know."""

    case: Case
    run_id: str
    stack: Stack
    clock: RunClock
    schedule: ConstantRate
    phases: Phases
    files: RunFiles


@dataclass(frozen=True)
class Balance:
    """A pipeline's figures after the run."""

    account: Account
    latency: LatencySummary
    #: Secondary latencies and hops by name.
    hops: dict[str, LatencySummary]
    #: Further metrics that gates may refer to.
    metrics: dict[str, float | int | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


class Pipeline(Protocol):
    producer: Producer
    output: Output
    #: Consumers first: they must listen before the producer speaks.
    workers: list[Worker]

    def drained(self) -> bool:
        """Whether all that JetStream acknowledged has come out."""
        ...

    def received(self) -> int:
        """Deliveries so far: when it stops growing, no straggler or duplicate is on its way."""
        ...

    def balance(self) -> Balance:
        """Called once, after all workers have stopped."""
        ...

    def outages(self) -> list[Outage]: ...

    def processes(self) -> Mapping[str, Callable[[], list[int]]]:
        """Further processes whose CPU and memory are of interest, by name."""
        ...


class PipelineBuilder(Protocol):
    """Usually the pipeline's class."""

    def consumers(self, case: Case) -> list[tuple[Durable, AckPolicy]]:
        """The durables of this case; the runner makes them before the schedule starts to run."""
        ...

    def settings(self) -> Mapping[str, Any]:
        """What the manifest must say of the engine; nothing if there is none."""
        ...

    def prepared(self, case: Case, run_id: str, stack: Stack, folder: Path) -> AbstractContextManager[None]:
        """What must run around the pipeline (an engine), ready when the context is entered."""
        ...

    def __call__(self, context: RunContext) -> Pipeline: ...


def no_engine() -> Mapping[str, Any]:
    return {}


def nothing_to_prepare(
    _case: Case, _run_id: str, _stack: Stack, _folder: Path
) -> AbstractContextManager[None]:
    return nullcontext()


def event_frames(context: RunContext, inbox: str) -> EventFrames:
    load = context.case.load
    subjects = tuple(events_subject(p) for p in range(load.partitions))
    shape = FrameShape(
        context.run_id, load.total, load.num_keys, subjects, inbox, context.case.transport.message_ids
    )
    return EventFrames(shape, load.payload_bytes, load.seed)


def mock_frames(context: RunContext, inbox: str) -> MockResultFrames:
    load = context.case.load
    subjects = tuple(results_subject("mock", p) for p in range(load.partitions))
    shape = FrameShape(
        context.run_id, load.total, load.num_keys, subjects, inbox, context.case.transport.message_ids
    )
    return MockResultFrames(shape)


def make_producer(context: RunContext, frames: EventFrames | MockResultFrames, inbox: str) -> Producer:
    total = context.case.load.total
    return Producer(
        context.stack.connect_nats,
        frames,
        context.schedule,
        context.clock,
        run_id=context.run_id,
        total=total,
        inbox=inbox,
        stream=EVENTS if isinstance(frames, EventFrames) else RESULTS,
        tick_s=tick_s(context.case.windows is not None),
    )


def new_inbox() -> str:
    return f"_INBOX.{secrets.token_hex(4)}"
