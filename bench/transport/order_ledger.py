"""What one subscriber got: every message of every publisher, once, in the order it was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.wire.frames import Ints


@dataclass(frozen=True)
class Account:
    received: int
    lost: int
    duplicates: int
    out_of_order: int
    unexpected: int

    @property
    def exact(self) -> bool:
        return not (self.lost or self.duplicates or self.out_of_order or self.unexpected)


class OrderLedger:
    """Keeps the next number wanted of each publisher, and the numbers that were passed over.

    Its memory does not grow with the messages, only with what went wrong: a soak of days costs nothing.
    """

    def __init__(self, totals: Sequence[int]) -> None:
        self._totals = tuple(totals)
        self._next = [1] * len(totals)
        self._skipped: list[set[int]] = [set() for _ in totals]
        self.received = 0
        self._duplicates = self._late = self._unexpected = 0

    def take(self, publishers: Ints, seqs: Ints) -> None:
        self.received += len(seqs)
        for publisher in range(len(self._totals)):
            mine = seqs[publishers == publisher]
            if not len(mine):
                continue
            wanted, last = self._next[publisher], int(mine[-1])
            in_order = (
                int(mine[0]) == wanted and last - wanted + 1 == len(mine) and last <= self._totals[publisher]
            )
            if in_order and bool((np.diff(mine) == 1).all()):
                self._next[publisher] = last + 1
            else:
                self._take_singly(publisher, mine.tolist())
        self._unexpected += int(np.count_nonzero((publishers < 0) | (publishers >= len(self._totals))))

    def _take_singly(self, publisher: int, seqs: list[int]) -> None:
        skipped = self._skipped[publisher]
        for seq in seqs:
            wanted = self._next[publisher]
            if seq > self._totals[publisher] or seq < 1:
                self._unexpected += 1
            elif seq >= wanted:
                skipped.update(range(wanted, seq))
                self._next[publisher] = seq + 1
            elif seq in skipped:
                skipped.remove(seq)
                self._late += 1
            else:
                self._duplicates += 1

    def account(self, published: Sequence[int]) -> Account:
        """`published` is how many of each publisher were acknowledged: what must have come."""
        lost = 0
        for number, wanted, skipped in zip(published, self._next, self._skipped, strict=True):
            lost += max(0, number - wanted + 1) + sum(1 for seq in skipped if seq <= number)
        return Account(self.received, lost, self._duplicates, self._late, self._unexpected)
