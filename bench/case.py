"""A case is data: what is run, how hard, and what must hold."""

from __future__ import annotations

from dataclasses import dataclass

from bench.engine.protocol import WindowClock
from bench.gates import Gate

#: Bumped when a case's meaning changes, so that results of different meanings are never compared.
CASE_VERSION = 1


@dataclass(frozen=True)
class Load:
    """What the producer does."""

    rate_per_s: int
    warmup_s: int
    measure_s: int
    num_keys: int
    payload_bytes: int
    partitions: int
    seed: int

    @property
    def total(self) -> int:
        return self.rate_per_s * (self.warmup_s + self.measure_s)


@dataclass(frozen=True)
class Transport:
    """How JetStream keeps the messages."""

    storage: str
    replicas: int
    #: Nats-Msg-Id on every message: what a reconnect publishes again is stored once.
    message_ids: bool
    #: Of each stream; the oldest messages go first. −1 for no bound.
    max_bytes: int


@dataclass(frozen=True)
class Windows:
    """The engine's tumbling windows."""

    window_ms: int
    clock: WindowClock
    #: By the event's clock: how much later than its own time an event may come and still count.
    lateness_s: int = 1


@dataclass(frozen=True)
class Case:
    letter: str
    variant: str | None
    load: Load
    transport: Transport
    gates: tuple[Gate, ...]
    #: How long the pipeline may take to deliver the rest after the last event was sent.
    drain_s: float
    #: What arrives later than this after its intended time is counted as late.
    late_after_s: float
    #: Below this a change of p99 is no finding.
    p99_floor_ms: float
    windows: Windows | None = None

    @property
    def name(self) -> str:
        return f"{self.letter}-{self.variant}" if self.variant else self.letter
