"""Figures published for another engine (KaflowSQL) on another machine; beside ours, never a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedFigure:
    events_per_s: int
    hit_rate: float
    latency_ms_p99: float
    memory_bytes: int


PUBLISHED: Mapping[str, PublishedFigure] = {
    "enrichment": PublishedFigure(150_000, 0.95, 1.0, 500_000_000),
    "multi-stream": PublishedFigure(100_000, 0.85, 2.0, 1_200_000_000),
    "high-dimensional": PublishedFigure(80_000, 0.90, 3.0, 2_500_000_000),
    "iot": PublishedFigure(250_000, 0.75, 0.5, 800_000_000),
}
#: Events a second by cores.
PUBLISHED_PER_CORES: Mapping[int, int] = {1: 30_000, 2: 55_000, 4: 100_000, 8: 180_000, 16: 250_000}
#: Its alerts: p99 in ms, events a second, join rate.
ALERT_LATENCY_MS, ALERT_PER_S, ALERT_JOIN_RATE = 5.0, 10_000, 0.8
CAVEAT = (
    "The published figures are KaflowSQL's, on another machine (8 cores, 32 GB). Ours are of a micro-batch "
    "engine on the machine named here, with generator, broker and engine sharing its cores."
)
