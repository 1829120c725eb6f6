"""A live case second by second: how many rows were stored, and how late they were. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.joins.joined import Joined
from bench.schedule import Ints
from bench.stats import theil_sen_slope

#: Fewer say nothing about a slope.
_LEAST_SECONDS = 5


@dataclass(frozen=True)
class Second:
    """The rows that were stored in one second of a live case."""

    t_s: float
    rows: int
    p50_ms: float
    p99_ms: float


def seconds_of(joined: Joined, due_ns: Ints, start_ns: int) -> tuple[Second, ...]:
    """Second by second of the clock, by when rows were stored; delays from when they were due."""
    ours = (joined.numbers >= 1) & (joined.numbers <= len(due_ns))
    stored = joined.stored_ns[ours]
    delay_ms = (stored - due_ns[joined.numbers[ours] - 1]) / 1e6
    at_s = (stored - start_ns) // 1_000_000_000
    order = np.argsort(at_s, kind="stable")
    told, firsts = np.unique(at_s[order], return_index=True)
    parts = np.split(delay_ms[order], firsts[1:])
    return tuple(
        Second(float(t_s), len(part), *(float(value) for value in np.percentile(part, (50, 99))))
        for t_s, part in zip(told, parts, strict=True)
        if len(part)
    )


def slope_of(seconds: Sequence[Second], warmup_s: float) -> float | None:
    """How much later rows come with every second, by a robust line: a join that keeps up has about none."""
    warm = [second for second in seconds if second.t_s >= warmup_s]
    if len(warm) < _LEAST_SECONDS:
        return None
    return theil_sen_slope([second.t_s for second in warm], [second.p50_ms for second in warm])
