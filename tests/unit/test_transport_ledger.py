"""The transport suite's ledger, by sabotage: each thing that can go wrong on the way is counted as itself."""

from __future__ import annotations

import numpy as np
import pytest

from bench.transport.order_ledger import OrderLedger


def taken(*batches: list[tuple[int, int]], totals=(5, 5)) -> OrderLedger:
    """(publisher, seq) pairs, batch by batch."""
    ledger = OrderLedger(totals)
    for batch in batches:
        publishers, seqs = np.array(batch, np.int64).T
        ledger.take(publishers, seqs)
    return ledger


WHOLE = [(who, seq) for seq in range(1, 6) for who in (0, 1)]


def test_all_once_in_order_is_exact():
    """A perfect run would be called imperfect."""
    account = taken(WHOLE[:3], WHOLE[3:]).account([5, 5])
    assert account.exact
    assert account.received == 10


@pytest.mark.parametrize(
    ("spoiled", "finding"),
    [
        (WHOLE[:4] + WHOLE[5:], {"lost": 1}),
        (WHOLE[:-1], {"lost": 1}),
        (WHOLE[:4] + WHOLE[2:], {"duplicates": 2}),
        ([WHOLE[2], WHOLE[0], *WHOLE[1:2], *WHOLE[3:]], {"out_of_order": 1}),
        ([*WHOLE, (0, 6)], {"unexpected": 1}),
        ([*WHOLE, (7, 1)], {"unexpected": 1}),
    ],
)
def test_each_fault_is_counted_as_itself(spoiled, finding):
    """A loss would hide behind a duplicate, or a swap behind a full count."""
    account = taken(spoiled).account([5, 5])
    found = {name: getattr(account, name) for name in ("lost", "duplicates", "out_of_order", "unexpected")}
    assert {name: count for name, count in found.items() if count} == finding


def test_what_was_never_acknowledged_is_not_lost():
    """A refused publish would be blamed on the way to the subscriber."""
    assert taken(WHOLE[:6]).account([3, 3]).exact
