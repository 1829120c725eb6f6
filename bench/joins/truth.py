"""What a right join makes of a workload: whether each fact is emitted, and its match in each topic.

In closed form: a match follows from the fact's number alone. tests/unit joins the same rows by brute force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.joins.rows import (
    STRANGER,
    distance_us,
    fact_keys,
    mask_of,
    never_comes,
    status_step_us,
    value_of,
)
from bench.joins.workload import Lookup, Workload
from bench.schedule import Ints
from bench.wire.frames import Flags


@dataclass(frozen=True)
class Truth:
    """Of some facts, in order."""

    #: A fact's number less 1.
    index: Ints
    emitted: Flags
    #: The row of each lookup topic that is joined, 0 where there is none; facts × topics.
    matches: Ints

    @property
    def hits(self) -> Flags:
        """Facts that come out complete."""
        flags: Flags = self.emitted & (self.matches > 0).all(axis=1)
        return flags

    @property
    def totals(self) -> Ints:
        """The sum of the values that meet in a row: a right match with a wrong column is seen."""
        joined = np.where(self.matches > 0, value_of(self.matches), 0).sum(axis=1)
        totals: Ints = value_of(self.index + 1) + joined
        return totals


def truth_of(workload: Workload) -> Truth:
    return truth_of_rows(workload, np.arange(workload.facts, dtype=np.int64))


def truth_of_rows(workload: Workload, index: Ints) -> Truth:
    """Of the facts with these indexes (their number less 1)."""
    emitted = np.ones(len(index), np.bool_)
    matches = np.zeros((len(index), len(workload.lookups)), np.int64)
    for which, lookup in enumerate(workload.lookups):
        matches[:, which] = _match(workload, which, lookup, index)
        if workload.waits_for(lookup):
            emitted &= matches[:, which] > 0
    return Truth(index, emitted, matches)


def _match(workload: Workload, which: int, lookup: Lookup, index: Ints) -> Ints:
    if lookup.kind == "dimension":
        keys = fact_keys(workload, which, index)
        return np.where(keys < STRANGER, keys + 1, 0)
    before_us, after_us = workload.reach_us(lookup)
    if lookup.kind == "paired":
        distance = distance_us(workload, which, index)
        comes = ~never_comes(workload, which, index) & (distance >= -before_us) & (distance <= after_us)
        partner = index ^ mask_of(workload, which)
        return np.where(comes, partner + 1, 0)
    return _status(workload, which, lookup, index, before_us)


def _status(workload: Workload, which: int, lookup: Lookup, index: Ints, ttl_us: int) -> Ints:
    """The device's last status before the fact, if it is still good."""
    step, devices = status_step_us(workload, lookup), workload.keys
    at_us = index * workload.step_us
    newest = at_us // step + devices
    row = newest - (newest - fact_keys(workload, which, index)) % devices
    age_us = at_us - (row - devices) * step
    return np.where(age_us <= ttl_us, row + 1, 0)


def due_us(workload: Workload, truth: Truth) -> Ints:
    """How long after the fact its row can be emitted, in event time: when all it waits for is there."""
    due = np.zeros(len(truth.index), np.int64)
    for which, lookup in enumerate(workload.lookups):
        if lookup.kind == "paired" and workload.waits_for(lookup):
            np.maximum(due, distance_us(workload, which, truth.index), out=due)
    return due
