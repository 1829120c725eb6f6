"""Interventions fire once, in order, when their time has come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.intervention import Intervention, Interventions

relaxed = settings(deadline=None)  # a busy machine is no finding


def test_each_fires_once_in_the_order_of_its_time() -> None:
    """If this fails, a sabotage happens twice, or a repair before the damage."""
    done: list[str] = []
    planned = Interventions(
        [
            Intervention(3.0, lambda: done.append("third")),
            Intervention("drained", lambda: done.append("at the end")),
            Intervention(1.0, lambda: done.append("first")),
            Intervention(2, lambda: done.append("second")),
        ]
    )
    planned.fire_due(0.99)
    assert done == []
    planned.fire_due(1.0)
    assert done == ["first"]
    planned.fire_due(10.0)
    planned.fire_due(11.0)
    assert done == ["first", "second", "third"]
    planned.fire_drained()
    assert done[3:] == ["at the end"]


def test_two_of_one_moment_fire_as_planned() -> None:
    """If this fails, the order of two faults of the same second is chance."""
    done: list[int] = []
    moments = [Intervention(1.0, lambda i=i: done.append(i)) for i in range(5)]
    at_end = [Intervention("drained", lambda i=i: done.append(i)) for i in range(5, 8)]
    planned = Interventions([*at_end, *moments])
    planned.fire_due(1.0)
    planned.fire_drained()
    assert done == list(range(8))


def test_one_that_fails_stops_the_run() -> None:
    """If this fails, a sabotage that did not happen lets its test pass."""

    def broken() -> None:
        raise ZeroDivisionError

    planned = Interventions([Intervention(0.0, broken)])
    with pytest.raises(ZeroDivisionError):
        planned.fire_due(0.0)


def test_none_planned_is_nothing_done() -> None:
    """If this fails, an ordinary run cannot be run."""
    planned = Interventions([])
    planned.fire_due(1e9)
    planned.fire_drained()


@relaxed
@given(st.lists(st.floats(0, 100)), st.lists(st.floats(0, 100)))
def test_whatever_the_looks_each_fires_at_the_first_one_after_its_time(at, looks) -> None:
    """If this fails, some rhythm of looking skips or repeats an intervention."""
    done: list[float] = []
    planned = Interventions(
        [Intervention(moment, lambda moment=moment: done.append(moment)) for moment in at]
    )
    for look in sorted(looks):
        planned.fire_due(look)
        assert done == sorted(moment for moment in at if moment <= look)
