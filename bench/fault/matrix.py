"""The matrix of faults: one run for each case and target, which suffers one kind of fault after the other.

Several in one run, because an engine takes half a minute to start. Each has figures of its own; the ledger is
the run's, and exact means exact after all of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.fault.spec import Fault, Kind, Target
from bench.fault.support import TARGETS_OF

T = TypeVar("T")

#: The kill comes last: a JVM takes a minute to start and catch up beside all the rest on two cores.
ORDINARY: tuple[Kind, ...] = ("pause", "cut", "slow", "kill")
#: The cases of the matrix: without an engine, and on Spark.
CASES = ("B", "C", "D", "E", "F")
DURATION_S = 2.0
_DAY_S = 86_400


@dataclass(frozen=True)
class Cell:
    """One run of the matrix."""

    letter: str
    target: Target
    kinds: tuple[Kind, ...] = ORDINARY
    storage: str = "file"
    replicas: int = 1

    @property
    def name(self) -> str:
        kinds = "" if self.kinds == ORDINARY else f"-{'-'.join(self.kinds)}"
        storage = "" if self.storage == "file" else f"-{self.storage}"
        return f"{self.letter}-{self.target}{kinds}{storage}"

    @property
    def needs_engine(self) -> bool:
        return self.letter in "CDEF"

    def faults(self) -> list[Fault]:
        return [Fault(self.target, kind, None, DURATION_S) for kind in self.kinds]


MATRIX = (
    Cell("A", "nats", ("kill",), storage="memory"),
    Cell("B", "nats", ("disk-full",)),
    Cell("B", "nats-leader", ("kill", "pause"), replicas=3),
    *(Cell(letter, target) for letter in CASES for target in TARGETS_OF[letter] if target != "nats-leader"),
)


def todays(cells: Sequence[T], count: int, day: int | None = None) -> list[T]:
    """A part of them, another one every day; after some days all have had their turn."""
    if not cells:
        return []
    today = int(time.time() // _DAY_S) if day is None else day
    first = today * count % len(cells)
    return [cells[(first + offset) % len(cells)] for offset in range(min(count, len(cells)))]
