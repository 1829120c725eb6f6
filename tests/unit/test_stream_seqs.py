"""Redeliveries, found by stream sequence."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.stream_seqs import StreamSeqs

seqs = st.one_of(
    st.integers(1, 20), st.integers(65_530, 65_545), st.integers(131_070, 131_075), st.just(1_000_000)
)


@settings(deadline=None)
@given(st.lists(seqs, max_size=80))
def test_only_the_first_delivery_is_the_first(deliveries: list[int]) -> None:
    """If this fails, redeliveries count as results, or results as redeliveries."""
    tracker, seen = StreamSeqs(), set()
    for seq in deliveries:
        assert tracker.first_time(seq) == (seq not in seen)
        seen.add(seq)
