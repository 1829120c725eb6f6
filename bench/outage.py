"""Interruptions that a driver lived through: how it gets its connection back, and what the report tells."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bench.clock import RunClock
from bench.wire.errors import ConnectionLost

T = TypeVar("T")

_TRY_EVERY_S = 0.1


@dataclass(frozen=True)
class Outage:
    who: str
    what: str
    at_s: float
    lasted_ms: float


class OutageLog:
    """One driver's outages; times are seconds since the run's start."""

    def __init__(self, who: str, clock: RunClock, start_ns: int) -> None:
        self._who = who
        self._clock = clock
        self._start_ns = start_ns
        self.outages: list[Outage] = []

    def note(self, what: str, lost_ns: int) -> None:
        """An outage that began at `lost_ns` and is over now."""
        at_s = (lost_ns - self._start_ns) / 1e9
        lasted_ms = (self._clock.now_ns() - lost_ns) / 1e6
        self.outages.append(Outage(self._who, what, round(at_s, 3), round(lasted_ms, 1)))

    def reopen(
        self, open_again: Callable[[], T], error: ConnectionLost, stop: threading.Event, within_s: float
    ) -> T:
        """Try until it opens, and note the outage; after `within_s` the first error stands."""
        lost_ns = self._clock.now_ns()
        deadline = time.monotonic() + within_s
        while True:
            try:
                opened = open_again()
            except ConnectionLost:
                if time.monotonic() > deadline or stop.wait(_TRY_EVERY_S):
                    raise error from None
            else:
                self.note(str(error), lost_ns)
                return opened
