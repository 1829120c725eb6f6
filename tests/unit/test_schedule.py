"""The schedule: a pure function of seq, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.schedule import ConstantRate, Unpaced

relaxed = settings(deadline=None)  # a busy machine is no finding

rates = st.one_of(st.integers(1, 3_000_000_000), st.sampled_from([1, 3, 7, 999, 50_000, 10**9, 10**9 + 1]))
starts = st.integers(0, 10**18)
#: (seq − 1) · 10⁹ must stay within 64 bits: some 9 · 10⁹ events, two days at 50,000/s.
seqs = st.one_of(st.integers(1, 9 * 10**9), st.integers(1, 100))


@relaxed
@given(starts, rates, seqs)
def test_due_is_the_inverse_of_intended(start: int, rate: int, seq: int) -> None:
    """If this fails, events are sent before their time, or a rounding error adds up to slip."""
    schedule = ConstantRate(start, rate)
    at = int(schedule.intended_ns(np.array([seq]))[0])
    assert at == start + (seq - 1) * 10**9 // rate
    due = schedule.due(at)
    assert due >= seq
    later = schedule.intended_ns(np.array([due, due + 1])).tolist()
    assert later[0] <= at < later[1]
    assert schedule.due(at - 1) < seq


@relaxed
@given(starts, rates, st.integers(0, 9 * 10**9))
def test_next_due_is_the_time_of_the_next_event(start: int, rate: int, sent: int) -> None:
    """If this fails, the producer sleeps past the next event or wakes for nothing."""
    schedule = ConstantRate(start, rate)
    assert schedule.next_due_ns(sent) == int(schedule.intended_ns(np.array([sent + 1]))[0])
    assert schedule.due(schedule.next_due_ns(sent)) > sent


@relaxed
@given(starts, rates, st.integers(1, 10**6))
def test_intended_times_never_go_back(start: int, rate: int, first: int) -> None:
    """If this fails, a later event is due before an earlier one."""
    at = ConstantRate(start, rate).intended_ns(np.arange(first, first + 100))
    assert at.dtype == np.int64
    assert (np.diff(at) >= 0).all()


@pytest.mark.parametrize("rate", [1, 3, 50_000, 10**9])
def test_a_second_holds_exactly_the_rate(rate: int) -> None:
    """If this fails, the producer's rate is not the case's."""
    schedule = ConstantRate(5, rate)
    assert schedule.due(4) == 0
    assert schedule.due(5 + 10**9 - 1) == rate
    assert schedule.due(5 + 10**9) == rate + 1


@pytest.mark.parametrize("rate", [0, -1])
def test_no_rate_is_no_schedule(rate: int) -> None:
    """If this fails, a rate of nothing divides by zero in the middle of a run."""
    with pytest.raises(ValueError, match="rate"):
        ConstantRate(0, rate)


def test_unpaced_is_all_at_once() -> None:
    """If this fails, measuring the driver measures a schedule."""
    schedule = Unpaced(100)
    assert schedule.due(99) == 0
    assert schedule.due(100) > 10**18
    assert schedule.intended_ns(np.arange(1, 4)).tolist() == [100, 100, 100]
    assert schedule.next_due_ns(10**9) == 100
