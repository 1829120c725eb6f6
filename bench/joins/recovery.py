"""What a kill -9 cost: how long nothing came, and when the join had caught up. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.joins.joined import Joined
from bench.schedule import Ints

#: Caught up: this many times the delay before the kill, and from then on for good.
AS_BEFORE = 2.0
#: Below this a delay is a micro-batch's, whatever it was before.
_FLOOR_MS = 1_000.0


@dataclass(frozen=True)
class Recovery:
    #: From the kill to the first row after it.
    silent_s: float | None
    #: From the kill until every later row was about as prompt as before; None if that never came.
    caught_up_s: float | None
    delay_ms_p99_before: float | None
    #: Of the rows after the join had caught up.
    delay_ms_p99_after: float | None
    joined_before: int
    joined_after: int


def recovery_of(joined: Joined, due_ns: Ints, killed_ns: int, facts: int) -> Recovery:
    """`due_ns` by fact; rows of no fact are left out."""
    ours = (joined.numbers >= 1) & (joined.numbers <= facts)
    order = np.argsort(joined.stored_ns[ours], kind="stable")
    stored = joined.stored_ns[ours][order]
    delay_ms = (stored - due_ns[joined.numbers[ours][order] - 1]) / 1e6
    before, after = stored <= killed_ns, stored > killed_ns
    p99_before = _p99(delay_ms[before])
    if p99_before is None or not after.any():
        return Recovery(None, None, p99_before, None, int(before.sum()), int(after.sum()))
    slow = np.flatnonzero(after & (delay_ms > max(_FLOOR_MS, AS_BEFORE * p99_before)))
    since = int(slow[-1]) + 1 if len(slow) else int(np.flatnonzero(after)[0])
    caught_up = since < len(stored)
    return Recovery(
        silent_s=(int(stored[after][0]) - killed_ns) / 1e9,
        caught_up_s=(int(stored[since]) - killed_ns) / 1e9 if caught_up else None,
        delay_ms_p99_before=p99_before,
        delay_ms_p99_after=_p99(delay_ms[since:]),
        joined_before=int(before.sum()),
        joined_after=int(after.sum()),
    )


def _p99(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(np.percentile(values, 99)) if len(values) else None
