"""The ledger: every row that was due, and every row that came, held against each other. Exact, and pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from bench.joins.joined import Joined
from bench.joins.truth import Truth, due_us, truth_of
from bench.joins.workload import CLOSING, Workload
from bench.schedule import Ints


@dataclass(frozen=True)
class JoinAccount:
    facts: int
    #: Rows that a right join emits, and how many of them are complete.
    expected: int
    expected_hits: int
    #: Rows that came, those that only close the topics left out.
    seen: int
    #: Of the facts that came, those with a match in every topic.
    hits: int
    missing: int
    duplicates: int
    #: The right fact with a wrong match, a match too many, one too few, or a wrong total.
    wrong: int
    #: Of no fact, or of one that must not be emitted.
    unexpected: int
    #: Stored more than the bound after they could have been.
    late: int
    #: Numbers of facts, to look at.
    first_missing: int | None = None
    first_wrong: int | None = None

    def as_dict(self) -> dict[str, int | None]:
        return asdict(self)

    @property
    def exact(self) -> bool:
        return not (self.missing or self.duplicates or self.wrong or self.unexpected)


def settle(workload: Workload, joined: Joined, due_epoch_ns: Ints | None, late_after_s: float) -> JoinAccount:
    """`due_epoch_ns` has the time at which each fact's row could have been emitted; None is not measured."""
    truth = truth_of(workload)
    real = joined.numbers <= workload.facts
    # What closes the topics joins nothing and may or may not come out.
    ours = real | (joined.numbers > workload.facts + (CLOSING if workload.streaming else 0))
    numbers, matches, totals = joined.numbers[ours], joined.matches[ours], joined.totals[ours]
    stored = joined.stored_ns[ours]
    known = (numbers >= 1) & (numbers <= workload.facts)
    index = numbers[known] - 1
    wanted = truth.emitted[index]
    counts = np.bincount(index, minlength=workload.facts)
    right = (truth.matches[index] == matches[known]).all(axis=1) & (truth.totals[index] == totals[known])
    missing = np.flatnonzero(truth.emitted & (counts == 0))
    wrong = index[wanted & ~right]
    late = 0
    if due_epoch_ns is not None:
        late = int(np.count_nonzero(stored[known] - due_epoch_ns[index] > late_after_s * 1e9))
    complete = np.unique(index[(matches[known] > 0).all(axis=1)])
    return JoinAccount(
        facts=workload.facts,
        expected=int(truth.emitted.sum()),
        expected_hits=int(truth.hits.sum()),
        seen=len(numbers),
        hits=len(complete),
        missing=len(missing),
        duplicates=int(np.maximum(counts - 1, 0).sum()),
        wrong=len(wrong),
        unexpected=len(numbers) - int(wanted.sum()),
        late=late,
        first_missing=int(missing[0]) + 1 if len(missing) else None,
        first_wrong=int(wrong.min()) + 1 if len(wrong) else None,
    )


def due_epoch_ns(workload: Workload, truth: Truth, start_epoch_ns: int, facts_per_s: int) -> Ints:
    """When each fact's row could be emitted: its intended time, or that of the last row it waits for."""
    index = np.arange(workload.facts, dtype=np.int64)
    intended = intended_epoch_ns(index, start_epoch_ns, facts_per_s)
    # Event time and the schedule run at their own paces.
    pace = 1e9 / facts_per_s / workload.step_us
    return intended + (due_us(workload, truth) * pace).astype(np.int64)


def intended_epoch_ns(index: Ints, start_epoch_ns: int, facts_per_s: int) -> Ints:
    return start_epoch_ns + index * 1_000_000_000 // facts_per_s
