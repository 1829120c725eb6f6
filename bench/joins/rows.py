"""The rows of each topic, by their numbers from 1 on: keys, event time, value. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bench.contract.event import VALUE_FACTOR, VALUE_OFFSET
from bench.joins.chance import below, happens
from bench.joins.workload import CLOSING, ZERO_US, Lookup, Workload
from bench.schedule import Ints
from bench.wire.frames import Flags

#: Keys from here on are in no dimension, and of no fact.
STRANGER = 500_000_000_000
_CLOSING_FACT, _CLOSING_LOOKUP = 999_999_999_998, 999_999_999_999
KEY_WIDTH = 12
_DAY_US = 86_400_000_000
# What is drawn by chance for a fact; each lookup has draws of its own from here on.
_COMPLETE, _WHICH, _KEY = 1, 2, 16


@dataclass(frozen=True)
class Rows:
    """Columns, one entry a row."""

    numbers: Ints
    ts_us: Ints
    #: One array for each key column: a fact has one for each lookup, a lookup one.
    keys: tuple[Ints, ...]

    @property
    def values(self) -> Ints:
        return value_of(self.numbers)


def value_of(numbers: Ints) -> Ints:
    return VALUE_FACTOR * numbers + VALUE_OFFSET


def row_count(workload: Workload, topic: str) -> int:
    """All rows of a topic, those that close it included."""
    closing = CLOSING if workload.streaming else 0
    if topic == workload.fact:
        return workload.facts + closing
    lookup = lookup_of(workload, topic)
    if lookup.kind == "dimension":
        return workload.keys
    if lookup.kind == "paired":
        return -(-workload.facts // workload.spread) * workload.spread + closing
    return workload.keys + _live_statuses(workload, lookup) + closing


def ahead_count(workload: Workload, topic: str) -> int:
    """Rows that are published before the first fact is due."""
    if topic == workload.fact:
        return 0
    kind = lookup_of(workload, topic).kind
    return 0 if kind == "paired" else workload.keys


def lookup_of(workload: Workload, topic: str) -> Lookup:
    return next(lookup for lookup in workload.lookups if lookup.topic == topic)


def status_step_us(workload: Workload, lookup: Lookup) -> int:
    """From one status to the next, of another device: each is out of date for a share of the time."""
    ttl = workload.ttl.of(lookup.topic)
    assert ttl is not None
    # Topics miss independently of each other; together they make the hit rate.
    good_share = workload.hit_rate ** (1 / len(workload.lookups))
    # Rounded up: two statuses of one device within a TTL would both match.
    return -(-int(ttl / good_share) // workload.keys) + 1


def _live_statuses(workload: Workload, lookup: Lookup) -> int:
    return workload.facts * workload.step_us // status_step_us(workload, lookup) + 1


def rows_of(workload: Workload, topic: str, numbers: Ints) -> Rows:
    index = numbers - 1
    if topic == workload.fact:
        ts_us = ZERO_US + index * workload.step_us
        keys = tuple(fact_keys(workload, which, index) for which in range(max(1, len(workload.lookups))))
        return _closed(workload, topic, Rows(numbers, ts_us, keys), _CLOSING_FACT)
    lookup = lookup_of(workload, topic)
    which = workload.lookups.index(lookup)
    if lookup.kind == "dimension":
        # Rising: as a stream with a watermark, rows of one time would be late.
        return Rows(numbers, ZERO_US - workload.keys + index, (index,))
    if lookup.kind == "paired":
        partner = index ^ mask_of(workload, which)
        stranger = never_comes(workload, which, partner)
        keys = (np.where(stranger, STRANGER + partner, partner),)
        rows = Rows(numbers, ZERO_US + index * workload.step_us + offset_us(workload, which), keys)
    else:
        step = status_step_us(workload, lookup)
        rows = Rows(numbers, ZERO_US + (index - workload.keys) * step, (index % workload.keys,))
    return _closed(workload, topic, rows, _CLOSING_LOOKUP)


def _closed(workload: Workload, topic: str, rows: Rows, key: int) -> Rows:
    if not workload.streaming:
        return rows
    last = row_count(workload, topic) - CLOSING
    closing = rows.numbers > last
    if not closing.any():
        return rows
    # From one time on in all topics: the watermark is the least of them.
    end_us = ZERO_US + (workload.facts + workload.spread) * workload.step_us + _DAY_US
    ts_us = np.where(closing, end_us + rows.numbers - last, rows.ts_us)
    return Rows(rows.numbers, ts_us, tuple(np.where(closing, key, one) for one in rows.keys))


def fact_keys(workload: Workload, which: int, index: Ints) -> Ints:
    """The key by which facts look into topic `which`."""
    if not workload.lookups:
        return below(index, workload.keys, workload.seed, _KEY)
    kind = workload.lookups[which].kind
    if kind == "paired":
        return index
    keys = below(index, workload.keys, workload.seed, _KEY + which)
    return keys if kind == "rolling" else np.where(_unknown(workload, which, index), STRANGER + keys, keys)


def _unknown(workload: Workload, which: int, index: Ints) -> Flags:
    """Of each fact that shall not be complete one key is in no dimension."""
    broken = ~happens(index, workload.hit_rate, workload.seed, _COMPLETE)
    chosen = below(index, len(workload.lookups), workload.seed, _WHICH)
    flags: Flags = broken & (chosen == which)
    return flags


def mask_of(workload: Workload, which: int) -> int:
    """Row i of a paired topic belongs to fact i XOR this: within a block the order is turned round."""
    return (workload.spread >> which) - 1


def offset_us(workload: Workload, which: int) -> int:
    """Paired rows lie between facts, so that none is at the same time as its fact."""
    return (which + 1) * workload.step_us // (len(workload.lookups) + 1)


def distance_us(workload: Workload, which: int, index: Ints) -> Ints:
    """From a fact to its paired row."""
    away = (index ^ mask_of(workload, which)) - index
    return away * workload.step_us + offset_us(workload, which)


def never_comes(workload: Workload, which: int, index: Ints) -> Flags:
    """Whether the paired row of a fact is not published; another fact's, that does not exist, is."""
    gone = ~happens(index, _coming_share(workload), workload.seed, _COMPLETE)
    chosen = below(index, len(workload.lookups), workload.seed, _WHICH)
    flags: Flags = gone & (chosen == which)
    return flags


@lru_cache(maxsize=16)
def _coming_share(workload: Workload) -> float:
    """What must come at all, so that with those that come too late the hit rate is the designed one.

    Designed for a join that waits for everything: what emission immediate gets of it is the price it pays.
    """
    block = np.arange(workload.spread, dtype=np.int64)
    in_time = np.ones(len(block), np.bool_)
    for which, lookup in enumerate(workload.lookups):
        ttl = workload.ttl.of(lookup.topic)
        distance = distance_us(workload, which, block)
        in_time &= (distance >= -(ttl or 0)) & (distance <= workload.wait_us)
    share = float(in_time.mean())
    if share < workload.hit_rate:
        raise ValueError(
            f"hit rate {workload.hit_rate:g}: with these TTLs and spread only {share:.3f} come in time"
        )
    return workload.hit_rate / share
