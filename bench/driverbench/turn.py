"""One contestant's turn: what it moved, how long it took, and whose CPU paid for it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    part: str
    name: str
    storage: str
    round: int
    messages: int
    elapsed_s: float
    #: Of the thread that does the work, where that is ours; else of the whole client.
    client_cpu_s: float
    #: Of the whole client process, threads that only watch included.
    process_cpu_s: float
    server_cpu_s: float

    def __post_init__(self) -> None:
        if self.messages < 1 or self.elapsed_s <= 0:
            raise ValueError(f"{self.name} moved {self.messages} messages in {self.elapsed_s} s")

    @property
    def rate_per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def client_cpu_s_per_million(self) -> float:
        return self.client_cpu_s / self.messages * 1e6


@dataclass(frozen=True)
class Standing:
    """One contestant's medians over the rounds."""

    part: str
    name: str
    storage: str
    rounds: int
    rate_per_s: float
    client_cpu_s_per_million: float
    process_cpu_s_per_million: float
    server_cpu_s_per_million: float


def standings(turns: Sequence[Turn]) -> list[Standing]:
    """In the order in which the contestants first appear."""
    groups: dict[tuple[str, str, str], list[Turn]] = {}
    for turn in turns:
        groups.setdefault((turn.part, turn.storage, turn.name), []).append(turn)
    return [
        Standing(
            part,
            name,
            storage,
            len(group),
            statistics.median(turn.rate_per_s for turn in group),
            *(
                statistics.median(getattr(turn, field) / turn.messages * 1e6 for turn in group)
                for field in ("client_cpu_s", "process_cpu_s", "server_cpu_s")
            ),
        )
        for (part, storage, name), group in groups.items()
    ]
