"""One turn of an engine: so many events by one way through one pipeline, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bench.source.backlog import Backlog

Mode = Literal["files", "jetstream"]
Pipeline = Literal["filter", "aggregate"]
FILES: Mode = "files"
JETSTREAM: Mode = "jetstream"
PIPELINES: tuple[Pipeline, ...] = ("filter", "aggregate")


@dataclass(frozen=True)
class SourceTurn:
    mode: Mode
    pipeline: Pipeline
    events: int
    elapsed_s: float
    #: Of what passed the filter, by the engine's own arithmetic.
    count: int
    sum_value: int
    engine_cpu_s: float
    server_cpu_s: float
    #: Whatever else the engine tells of it.
    detail: Mapping[str, Any] = field(default_factory=dict)
    #: Without what it takes to start, where the engine can tell it apart.
    steady_per_s: float | None = None

    @property
    def events_per_s(self) -> float:
        """All in all."""
        return self.events / self.elapsed_s

    @property
    def rate_per_s(self) -> float:
        return self.steady_per_s or self.events_per_s


class SourceEngine(Protocol):
    """An engine that can read the backlog from files and through its own JetStream source."""

    @property
    def variant(self) -> str: ...

    @property
    def least_efficiency(self) -> float:
        """The bound of the gate at full size."""
        ...

    @property
    def warms_up(self) -> bool:
        """Whether it becomes faster in its first turns."""
        ...

    def rehearse(self, backlog: Backlog, pipeline: Pipeline) -> None:
        """Whatever makes it as fast as one that has run for long, before its first turn."""
        ...

    def play(self, backlog: Backlog, mode: Mode, pipeline: Pipeline) -> SourceTurn: ...

    def settings(self) -> dict[str, Any]:
        """For the manifest."""
        ...
