"""The run's clock: durations from the monotonic clock, tied once to the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable


class RunClock:
    """Monotonic time that can be told as epoch time.

    The two are tied together at construction. A wall clock that jumps later changes nothing we
    measure; `wall_drift_ms` shows it, so that the run can be called invalid.
    """

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._wall_ns = wall_ns
        self.epoch_offset_ns = wall_ns() - monotonic_ns()

    def now_ns(self) -> int:
        return self._monotonic_ns()

    def epoch_ns(self, monotonic_ns: int) -> int:
        return monotonic_ns + self.epoch_offset_ns

    def wall_drift_ms(self) -> float:
        """How far the wall clock has moved against the monotonic one since the run began."""
        return (self._wall_ns() - self._monotonic_ns() - self.epoch_offset_ns) / 1e6
