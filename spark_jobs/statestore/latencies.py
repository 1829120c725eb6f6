"""Latencies as counts in buckets of 5 %, small enough to travel with every batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

_STEP = math.log(1.05)


def bucket_of(latency_ms: float) -> int:
    return round(math.log(max(latency_ms, 1.0)) / _STEP)


def quantile_ms(counts: Mapping[int, int], share: float) -> float | None:
    total = sum(counts.values())
    if not total:
        return None
    left = math.ceil(share * total)
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            return math.exp(bucket * _STEP)
    raise AssertionError("a share above 1")


def joined(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    whole: dict[int, int] = {}
    for part in parts:
        for bucket, count in part.items():
            whole[bucket] = whole.get(bucket, 0) + count
    return whole
