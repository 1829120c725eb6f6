"""The ratios ours ÷ theirs, and the bars they must clear."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.driverbench.turn import Turn
from bench.gates import Gate

PRODUCER = "jetlag producer"
OBSERVER = "jetlag observer, ack none"
OBSERVER_ACK_ALL = "jetlag observer, ack all"
WRITER = "jetlag writer"
NATS_ASYNC = "nats bench js pub async"
NATS_BATCH = "nats bench js pub batch"
NATS_FETCH = "nats bench js fetch --acks none"
NATS_ORDERED = "nats bench js ordered"
BARE_INSERT = "bare insert loop"

BARS = (
    Gate("producer_cpu_vs_nats_async", "<=", 0.2, "the driver must not weigh on what it measures"),
    Gate("producer_cpu_vs_nats_batch", "<=", 0.5, "the driver must not weigh on what it measures"),
    Gate("producer_rate_vs_nats_async", ">=", 1.5, "the driver must not be the ceiling"),
    Gate("observer_cpu_vs_nats_fetch", "<=", 0.5, "the driver must not weigh on what it measures"),
    Gate("observer_rate_vs_nats_fetch", ">=", 0.9, "the driver must not be the ceiling"),
    Gate("writer_rate_vs_bare_insert", ">=", 0.9, "the sink is to be measured, not its writer"),
)


def _rate(turn: Turn) -> float:
    return turn.rate_per_s


def _cpu(turn: Turn) -> float:
    return turn.client_cpu_s_per_million


@dataclass(frozen=True)
class Pair:
    ours: str
    theirs: str
    measure: Callable[[Turn], float]


PAIRS = {
    "producer_cpu_vs_nats_async": Pair(PRODUCER, NATS_ASYNC, _cpu),
    "producer_cpu_vs_nats_batch": Pair(PRODUCER, NATS_BATCH, _cpu),
    "producer_rate_vs_nats_async": Pair(PRODUCER, NATS_ASYNC, _rate),
    "observer_cpu_vs_nats_fetch": Pair(OBSERVER, NATS_FETCH, _cpu),
    "observer_rate_vs_nats_fetch": Pair(OBSERVER, NATS_FETCH, _rate),
    "writer_rate_vs_bare_insert": Pair(WRITER, BARE_INSERT, _rate),
}


def ratios(turns: Sequence[Turn], storage: str) -> dict[str, float | None]:
    """The median over the rounds of each round's own ratio: what disturbs a round disturbs both sides.

    None where a side was not measured, which no gate takes for a pass.
    """
    eligible = [turn for turn in turns if turn.storage == storage]
    return {key: _ratio(eligible, pair) for key, pair in PAIRS.items()}


def _ratio(turns: Sequence[Turn], pair: Pair) -> float | None:
    ours, theirs = (_by_round(turns, name, pair.measure) for name in (pair.ours, pair.theirs))
    shares = [ours[number] / theirs[number] for number in ours.keys() & theirs.keys() if theirs[number]]
    return statistics.median(shares) if shares else None


def _by_round(turns: Sequence[Turn], name: str, measure: Callable[[Turn], float]) -> dict[int, float]:
    values: dict[int, list[float]] = {}
    for turn in turns:
        if turn.name == name:
            values.setdefault(turn.round, []).append(measure(turn))
    return {number: statistics.mean(of_round) for number, of_round in values.items()}
