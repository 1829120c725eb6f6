"""What a pipeline must make of the events first..last: half of them pass the filter, in closed form."""

from __future__ import annotations

from bench.contract.event import KeyTotals, expected_totals


def kept_totals(first_seq: int, last_seq: int) -> KeyTotals:
    """value = 3·seq + 1 is even where seq is odd: a key of two, so the contract's closed form serves."""
    return expected_totals(first_seq, last_seq, 1, 2)
