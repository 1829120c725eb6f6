"""The same backlog on one core, two, and as many as there are: how much each more brings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from bench.joins.outcome import JoinOutcome


def core_counts(cores: int | None = None) -> list[int]:
    """1, 2, 4 … up to the machine's."""
    most = cores or os.cpu_count() or 1
    return [count for count in (2**power for power in range(10)) if count <= max(most, 1)]


@dataclass(frozen=True)
class Scale:
    scenario: str
    cores: int
    events_per_s: float
    cpu_s_per_million: float | None
    #: Over that of one core, and by core.
    speedup: float
    efficiency: float


def scales(scenario: str, outcomes: Sequence[JoinOutcome]) -> list[Scale]:
    """Of outcomes on one core first; one whose rate is not known is left out."""
    told: list[Scale] = []
    alone: float | None = None
    for one in outcomes:
        rate = one.metrics["events_per_s"]
        if rate is None:
            continue
        alone = alone or rate / one.tasks
        cpu = one.metrics["cpu_s_per_million"]
        told.append(Scale(scenario, one.tasks, rate, cpu, rate / alone, rate / alone / one.tasks))
    return told
