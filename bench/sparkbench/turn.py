"""One turn of one source, and what a row of the table says of all its turns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RAW, FILES, JETSTREAM = "raw fetch", "files", "jetstream"


@dataclass(frozen=True)
class Turn:
    """Rates in events/s, CPU in seconds per million events."""

    mode: str
    events_per_s: float
    client_cpu_s_per_million: float
    server_cpu_s_per_million: float


def steady_per_s(batches: Sequence[tuple[int, int]]) -> float:
    """Events/s over micro-batches of (rows, ms), without the first, in which a query starts its planner and
    workers, and without the last: in each batch the source reads for the next, which the last need not.
    """
    counted = batches[1:-1] or batches[1:] or batches
    return sum(rows for rows, _ in counted) / sum(ms for _, ms in counted) * 1000


def median_turn(turns: Sequence[Turn], mode: str) -> Turn:
    chosen = [turn for turn in turns if turn.mode == mode]
    return Turn(
        mode,
        statistics.median(turn.events_per_s for turn in chosen),
        statistics.median(turn.client_cpu_s_per_million for turn in chosen),
        statistics.median(turn.server_cpu_s_per_million for turn in chosen),
    )


def efficiency(turns: Sequence[Turn]) -> float:
    """What is left of the slower of broker and engine when they are put together."""
    ceiling = min(median_turn(turns, RAW).events_per_s, median_turn(turns, FILES).events_per_s)
    return median_turn(turns, JETSTREAM).events_per_s / ceiling
