"""The matrix as a plan: which runs are to come, which are done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.report import NotRun
from bench.settings import Settings

#: Beside warm-up and measuring: services, streams, draining, accounting.
_STEADY_REST_S = 4.0
#: An engine starts its JVM, is probed, and closes its last window.
_ENGINE_REST_S = 45.0
_BAR = 12

Kind = Literal["steady", "windowed"]


@dataclass(frozen=True)
class Planned:
    node_id: str
    case: str
    variant: str | None
    expected_s: float
    kind: Kind


def planned(node_id: str, case: str, variant: str | None, settings: Settings) -> Planned:
    if case in "AB":
        expected_s = settings.warmup_s + settings.measure_s + _STEADY_REST_S
        return Planned(node_id, case, "mock" if case == "B" else None, expected_s, "steady")
    expected_s = settings.windowed_warmup_s + settings.windowed_measure_s + _ENGINE_REST_S
    return Planned(node_id, case, variant, expected_s, "windowed")


class MatrixPlan:
    def __init__(self, runs: Sequence[Planned]) -> None:
        self._runs = {run.node_id: run for run in runs}
        self._began: dict[str, float] = {}
        self._took_s: dict[str, float] = {}
        self._skipped: set[str] = set()

    def start(self, node_id: str) -> None:
        if node_id in self._runs:
            self._began.setdefault(node_id, time.monotonic())

    def finish(self, node_id: str) -> None:
        if node_id in self._began:
            self._took_s.setdefault(node_id, time.monotonic() - self._began[node_id])

    def skip(self, node_id: str) -> None:
        """Its engine is not at hand: no run of it will take any time."""
        if node_id in self._runs:
            variant = self._runs[node_id].variant
            self._skipped |= {one.node_id for one in self._runs.values() if one.variant == variant}

    def not_reached(self, interrupted: bool) -> list[NotRun]:
        """What a reader must not take for forgotten after Ctrl-C or -x."""
        why = "interrupted before its turn" if interrupted else "the matrix was stopped before its turn"
        return [
            NotRun(run.case, run.variant, why)
            for run in self._runs.values()
            if run.node_id not in self._began
        ]

    def told(self) -> str:
        """`3/7 █████░░░░░░░ 4 min left`."""
        total_s = sum(self._expected_s(run) for run in self._runs.values())
        if not total_s:
            return ""
        left_s = self._left_s()
        full = round(_BAR * (1 - min(1.0, left_s / total_s)))
        number = min(len(self._began), len(self._runs)) or 1
        return f"{number}/{len(self._runs)} {'█' * full}{'░' * (_BAR - full)} {_span(left_s)} left"

    def _left_s(self) -> float:
        now = time.monotonic()
        left_s = 0.0
        for node_id, run in self._runs.items():
            if node_id not in self._took_s:
                spent_s = now - self._began[node_id] if node_id in self._began else 0.0
                left_s += max(0.0, self._expected_s(run) - spent_s)
        return left_s

    def _expected_s(self, run: Planned) -> float:
        """What it took; else the plan, corrected by what runs of its kind took beside their plan so far."""
        if run.node_id in self._took_s:
            return self._took_s[run.node_id]
        if run.node_id in self._skipped:
            return 0.0
        measured = self._took_s.keys() - self._skipped
        done = [self._runs[node_id] for node_id in measured if self._runs[node_id].kind == run.kind]
        if not done:
            return run.expected_s
        extra_s = sum(self._took_s[one.node_id] - one.expected_s for one in done) / len(done)
        return max(1.0, run.expected_s + extra_s)


def _span(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
