"""When each event is meant to be sent: a pure function of its seq, shared by producer and observer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_SECOND_NS = 1_000_000_000
_FOREVER = 2**63 - 1


@dataclass(frozen=True)
class ConstantRate:
    """Event `seq` (from 1) is due at start + (seq − 1) / rate."""

    start_ns: int
    rate_per_s: int

    def __post_init__(self) -> None:
        if self.rate_per_s < 1:
            raise ValueError(f"rate must be at least 1 per second, not {self.rate_per_s}")

    def intended_ns(self, seqs: Ints) -> Ints:
        return self.start_ns + (seqs - 1) * _SECOND_NS // self.rate_per_s

    def due(self, now_ns: int) -> int:
        """How many events are due at `now_ns`: the largest seq whose intended time has come."""
        elapsed_ns = now_ns - self.start_ns
        if elapsed_ns < 0:
            return 0
        # seq is due when (seq − 1) · 10⁹ // rate ≤ elapsed, that is (seq − 1) · 10⁹ < (elapsed + 1) · rate.
        return ((elapsed_ns + 1) * self.rate_per_s - 1) // _SECOND_NS + 1

    def next_due_ns(self, sent: int) -> int:
        return self.start_ns + sent * _SECOND_NS // self.rate_per_s


@dataclass(frozen=True)
class Unpaced:
    """Everything is due at once: for measuring what the driver itself can do."""

    start_ns: int

    def intended_ns(self, seqs: Ints) -> Ints:
        return np.full(len(seqs), self.start_ns, np.int64)

    def due(self, now_ns: int) -> int:
        return _FOREVER if now_ns >= self.start_ns else 0

    def next_due_ns(self, sent: int) -> int:  # noqa: ARG002 - the schedule protocol
        return self.start_ns


Schedule = ConstantRate | Unpaced
