"""wait_until: waits as long as it must, and no longer."""

from __future__ import annotations

import pytest

from bench.infra.waiting import wait_until


def test_no_sleep_after_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleep too many in every wait adds up to minutes over a suite."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    answers = iter([False, False, True])
    wait_until(lambda: next(answers), 60, "never")
    assert len(slept) == 2


def test_the_last_exception_is_chained() -> None:
    """A timeout without its cause sends the reader to the wrong place."""

    def condition() -> bool:
        raise OSError("connection refused")

    with pytest.raises(TimeoutError, match="the thing is not ready") as caught:
        wait_until(condition, 0, lambda: "the thing is not ready")
    assert isinstance(caught.value.__cause__, OSError)


def test_a_fatal_exception_ends_the_wait() -> None:
    """Waiting a minute for a process that is dead costs the minute and tells nothing."""
    calls: list[int] = []

    def condition() -> bool:
        calls.append(1)
        raise ValueError("dead")

    with pytest.raises(ValueError, match="dead"):
        wait_until(condition, 60, "never", abort_on=(ValueError,))
    assert len(calls) == 1


def test_the_condition_is_tried_even_without_time() -> None:
    """A deadline that passed while the machine was busy must not fail what is ready."""
    wait_until(lambda: True, 0, "never")
