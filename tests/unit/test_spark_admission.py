"""When a micro-batch is worth its cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.jetstream.admission import Admission
from spark_jobs.jetstream.ticks import Offset

QUIET = Offset(100, 3000, 3000)


def waiting() -> Admission:
    """The last batch was admitted at second 10."""
    admission = Admission(least_rows=50, longest_wait_s=2.0)
    admission.admitted(10.0)
    return admission


def test_the_first_batch_never_waits() -> None:
    """A job would not be ready before it had a window's worth of events."""
    assert not Admission(50, 2.0).holds(QUIET, Offset(101, 3000, 3000), 0.0)


def test_few_events_wait_and_enough_do_not() -> None:
    """A batch of a handful of events costs as much as one of thousands."""
    assert waiting().holds(QUIET, Offset(149, 3000, 3000), 10.5)
    assert not waiting().holds(QUIET, Offset(150, 3000, 3000), 10.5)


def test_nothing_waits_for_longer_than_asked() -> None:
    """At a low rate, a window's events would all be read when it closes."""
    assert not waiting().holds(QUIET, Offset(101, 3000, 3000), 12.0)


@given(st.integers(100, 200), st.floats(10.0, 12.0))
def test_a_tick_and_the_batch_after_it_never_wait(end: int, now_s: float) -> None:
    """A window would be emitted seconds late, or never after the last event."""
    assert not waiting().holds(QUIET, Offset(end, 4000, 3000), now_s)
    assert not waiting().holds(Offset(100, 4000, 3000), Offset(end, 4000, 4000), now_s)


@given(st.integers(100, 200), st.floats(0.0, 100.0))
def test_without_a_least_nothing_waits(end: int, now_s: float) -> None:
    """A query that asked for no waiting would get it."""
    admission = Admission(None, 2.0)
    admission.admitted(10.0)
    assert not admission.holds(QUIET, Offset(end, 3000, 3000), now_s)
