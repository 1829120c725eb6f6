"""The run's clock, driven by hand."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.clock import RunClock


class Hands:
    def __init__(self, ns: int) -> None:
        self.ns = ns

    def __call__(self) -> int:
        return self.ns


instants = st.integers(0, 4 * 10**18)


@settings(deadline=None)
@given(instants, instants, st.integers(0, 10**15), st.integers(-(10**15), 10**15))
def test_a_jump_of_the_wall_clock_shows_and_changes_nothing(
    monotonic: int, wall: int, passed: int, jump: int
) -> None:
    """If this fails, a clock set by NTP in a run moves its latencies, or nobody notices."""
    mono_hands, wall_hands = Hands(monotonic), Hands(wall)
    clock = RunClock(mono_hands, wall_hands)
    assert clock.wall_drift_ms() == 0
    mono_hands.ns += passed
    wall_hands.ns += passed + jump
    assert clock.now_ns() == monotonic + passed
    assert clock.epoch_ns(clock.now_ns()) == wall + passed
    assert clock.wall_drift_ms() == jump / 1e6


def test_the_real_clocks_agree_with_themselves() -> None:
    """If this fails, epoch times of a run are of another epoch."""
    clock = RunClock()
    first = clock.now_ns()
    assert clock.now_ns() >= first
    assert clock.epoch_ns(first) - first == clock.epoch_offset_ns
