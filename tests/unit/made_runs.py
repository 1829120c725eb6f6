"""Runs made up for tests of comparison and history: their level is known, their noise is seeded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bench.report.histogram_log import HistogramLog, TagSeries
from bench.report.run import Ledger, Run
from bench.verdict import Verdict

MANIFEST: dict[str, Any] = {
    "case_version": 1,
    "load": {"rate_per_s": 1000, "warmup_s": 5, "measure_s": 60},
    "transport": {"storage": "memory"},
    "engine": {"engine": "spark", "version": "4.3.0", "trigger_ms": 500},
    "services": {"nats": {"version": "2.15.1", "endpoint": "nats://127.0.0.1:1"}},
    "machine": {"cpu": "X", "cores": 2, "memory_bytes": 25_000_000_000, "load_average_1m": 1.0},
}


def run(seed: int, latency_ms: float = 40.0, rate: float = 1000.0, **changes: Any) -> Run:
    rng = np.random.default_rng(seed)
    t_s = [float(second) + 0.02 for second in range(1, 68)]
    noise = lambda level: (level * rng.lognormal(0, 0.05, len(t_s))).tolist()  # noqa: E731
    p50, p99, rates, lags = noise(latency_ms), noise(2 * latency_ms), noise(rate), noise(latency_ms)
    phases = ["warm-up"] * 5 + ["measure"] * 60 + ["drain"] * 2
    samples = [
        {"t_s": t, "out_t_s": t, "phase": phase, "out_rate": out, "lag": lag, "slip_p99_ms": 3.0}
        for t, phase, out, lag in zip(t_s, phases, rates, lags, strict=True)
    ]
    usage = [{"t_s": t, "name": "nats", "cpu_s": 0.2 * t, "rss_bytes": 1} for t in t_s[5:65]]
    whole = Run(
        run_id=f"B-{seed}", case="B", variant="mock", verdict=Verdict.PASS, invalid_reasons=(), gates=(),
        metrics={}, lag_trend="flat", latency_us={}, hops=(), ledger=Ledger({"lost": 0}, {}), outages=(),
        components=(), driver_cpu_s_per_million={}, emission_delay_ms={}, window_s=None, warmup_s=5.0,
        measure_s=60.0, target_rate_per_s=1000, samples=tuple(samples), resources=tuple(usage), progress=(),
        histograms=HistogramLog({"measure": TagSeries(t_s, p50, p99, [])}), manifest=MANIFEST, details={},
        damage=(),
    )  # fmt: skip
    return replace(whole, **changes)


def differing(**changes: Any) -> dict[str, Any]:
    """The manifest with one part of an entry changed: machine={"cores": 4}."""
    return {**MANIFEST, **{key: {**MANIFEST[key], **value} for key, value in changes.items()}}
