"""Resource samples of the measure window: written as they come, summed up at the end."""

from __future__ import annotations

from itertools import pairwise

from bench.phases import Phases
from bench.resources import Usage
from bench.runfiles import RunFiles


class UsageLog:
    def __init__(self, files: RunFiles, phases: Phases) -> None:
        self._files = files
        self._phases = phases
        self._samples: dict[str, list[tuple[float, Usage]]] = {}

    def add(self, name: str, usage: Usage, at_s: float) -> None:
        if not self._phases.measuring(int(at_s * 1e9)):
            return
        self._samples.setdefault(name, []).append((at_s, usage))
        t_s = at_s - self._phases.start_ns / 1e9
        self._files.resource(
            {"t_s": round(t_s, 3), "name": name, "cpu_s": usage.cpu_s, "rss_bytes": usage.rss_bytes}
        )

    def summary(self) -> dict[str, dict[str, float]]:
        """Mean CPU in cores and highest memory, by component."""
        out: dict[str, dict[str, float]] = {}
        for name, samples in self._samples.items():
            (first_s, first), (last_s, last) = samples[0], samples[-1]
            row = {"rss_bytes_max": float(max(usage.rss_bytes for _, usage in samples))}
            # A service that was restarted counts from zero again: no mean is better than a wrong one.
            restarted = any(after.cpu_s < before.cpu_s for (_, before), (_, after) in pairwise(samples))
            if last_s > first_s and not restarted:
                row["cpu_cores_mean"] = round((last.cpu_s - first.cpu_s) / (last_s - first_s), 4)
            out[name] = row
        return out
