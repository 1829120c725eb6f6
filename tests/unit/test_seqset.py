"""Exactly-once accounting, against a Counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.seqset import DUPLICATE_EXAMPLES_KEPT, SeqLedger

relaxed = settings(deadline=None)  # a busy machine is no finding


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def gaps(missing: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for seq in missing:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return ranges


@relaxed
@given(data=st.data())
def test_ledger_equals_a_counter(data: st.DataObject) -> None:
    """If this fails, lost or repeated events are miscounted, whatever the order of delivery."""
    # a wide ledger takes the sparse path for the same numbers, a narrow one the dense path
    expected = data.draw(st.sampled_from([1, 5, 30, 2_000, 100_000]))
    seq = st.one_of(st.integers(-2, 40), st.integers(expected - 40, expected + 2))
    batches = data.draw(st.lists(st.lists(seq, max_size=40), max_size=6))
    ledger = SeqLedger(expected)
    for batch in batches:
        ledger.mark(int64(*batch))
    deliveries = Counter(seq for batch in batches for seq in batch)
    inside = Counter({seq: n for seq, n in deliveries.items() if 1 <= seq <= expected})
    assert ledger.seen == len(inside)
    assert ledger.duplicates == inside.total() - len(inside)
    assert ledger.unexpected == deliveries.total() - inside.total()
    assert ledger.missing_count == expected - len(inside)
    assert ledger.max_seq == max(inside, default=0)
    missing = [seq for seq in range(1, expected + 1) if seq not in inside]
    assert ledger.missing_ranges(limit=expected) == gaps(missing)
    assert sorted(ledger.duplicate_examples(limit=expected)) == sorted(s for s, n in inside.items() if n > 1)


@pytest.mark.parametrize("spread", [1, 1000])
def test_triple_delivery_is_two_duplicates(spread: int) -> None:
    """If this fails, a third delivery goes uncounted, within one array or across arrays."""
    ledger = SeqLedger(10 * spread)
    ledger.mark(int64(2, 9, 2, 2) * spread)
    ledger.mark(int64(9, 3) * spread)
    ledger.mark(int64(9) * spread)
    assert (ledger.seen, ledger.duplicates) == (3, 4)
    assert ledger.duplicate_examples() == [2 * spread, 9 * spread]


def test_three_hundred_deliveries_of_one_number_do_not_wrap() -> None:
    """If this fails, a redelivery storm overflows a byte counter and makes a delivered event look lost."""
    ledger = SeqLedger(1)
    for _ in range(300):
        ledger.mark(int64(1))
    assert (ledger.seen, ledger.duplicates, ledger.missing_count) == (1, 299, 0)


def test_all_seen_leaves_no_gap() -> None:
    """If this fails, a run that lost nothing reports a gap."""
    ledger = SeqLedger(1000)
    ledger.mark(np.arange(1, 1001, dtype=np.int64))
    assert (ledger.missing_count, ledger.missing_ranges(), ledger.duplicates) == (0, [], 0)


def test_gaps_at_both_ends_and_the_limit() -> None:
    """If this fails, a lost head or tail of a run is not shown, or a report lists millions of gaps."""
    ledger = SeqLedger(20)
    ledger.mark(int64(3, 4, 10, 18))
    assert ledger.missing_ranges() == [(1, 2), (5, 9), (11, 17), (19, 20)]
    assert ledger.missing_ranges(limit=2) == [(1, 2), (5, 9)]
    assert SeqLedger(7).missing_ranges() == [(1, 7)]


def test_duplicate_examples_are_bounded() -> None:
    """If this fails, a run whose every event is redelivered holds millions of examples in memory."""
    ledger = SeqLedger(5000)
    for _ in range(2):
        ledger.mark(np.arange(1, 5001, dtype=np.int64))
    assert ledger.duplicates == 5000
    assert ledger.duplicate_examples(limit=10_000) == list(range(1, DUPLICATE_EXAMPLES_KEPT + 1))
    assert ledger.duplicate_examples(limit=2) == [1, 2]


def test_extreme_numbers_are_unexpected_not_an_error() -> None:
    """If this fails, a corrupt sequence number ends the observer instead of being counted."""
    ledger = SeqLedger(3)
    ledger.mark(int64(-(2**63), 0, 1, 4, 2**63 - 1))
    assert (ledger.seen, ledger.unexpected, ledger.max_seq) == (1, 4, 1)


def test_nothing_expected_is_refused() -> None:
    """If this fails, a ledger over no events reports that none is missing."""
    with pytest.raises(ValueError, match="nothing to account for"):
        SeqLedger(0)


def test_other_types_are_refused() -> None:
    """If this fails, a boolean mask given by mistake marks the wrong numbers."""
    with pytest.raises(TypeError, match="int64"):
        SeqLedger(3).mark(np.array([True, False]))
