"""Warm-up and measure: which samples count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.latency import LatencyRecorder
from bench.schedule import Ints


@dataclass(frozen=True)
class Phases:
    """Borders of the measure window on the monotonic clock; before it is warm-up."""

    start_ns: int
    measure_from_ns: int
    measure_to_ns: int

    def measuring(self, at_ns: int) -> bool:
        return self.measure_from_ns <= at_ns < self.measure_to_ns

    def name(self, at_ns: int) -> str:
        if at_ns < self.measure_from_ns:
            return "warm-up"
        return "measure" if at_ns < self.measure_to_ns else "drain"


class PhasedRecorder:
    """Latencies of the measure window, and apart from them those of the warm-up.

    A sample belongs to the phase of its intended time: an event meant for the measure window counts
    there however late it comes.
    """

    def __init__(self, phases: Phases, late_after_s: float) -> None:
        self._phases = phases
        self._late_after_us = int(late_after_s * 1e6)
        self.late = 0
        self.measure = LatencyRecorder()
        self.warmup = LatencyRecorder()

    def record(self, intended_ns: Ints, latencies_us: Ints) -> None:
        if not len(intended_ns):
            return
        self.late += int(np.count_nonzero(latencies_us > self._late_after_us))
        low, high = int(intended_ns.min()), int(intended_ns.max())
        border = self._phases.measure_from_ns
        if low >= border:
            self.measure.record(latencies_us)
        elif high < border:
            self.warmup.record(latencies_us)
        else:
            measured = np.asarray(intended_ns >= border)
            self.measure.record(latencies_us[measured])
            self.warmup.record(latencies_us[~measured])
