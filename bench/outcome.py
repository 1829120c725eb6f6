"""The outcome of one run, and its result.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.case import Case
from bench.gates import GateReport
from bench.latency import LatencySummary
from bench.ledger import Account
from bench.outage import Outage
from bench.stats import trend_word
from bench.verdict import Verdict

RESULT_VERSION = 1


@dataclass(frozen=True)
class Outcome:
    case: Case
    run_id: str
    folder: Path
    report: GateReport
    metrics: dict[str, float | int | None]
    account: Account | None
    latency: LatencySummary | None
    hops: dict[str, LatencySummary]
    outages: list[Outage]
    resources: dict[str, dict[str, float]]
    driver_cpu_s_per_million: dict[str, float]
    details: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict

    def raise_unless_pass(self) -> None:
        self.report.raise_unless_pass()

    @property
    def lag_trend(self) -> str:
        slope = self.metrics.get("lag_slope_per_s")
        return "unknown" if slope is None else trend_word(slope, self.case.load.rate_per_s)

    def latency_ms(self, percentile: str) -> float | None:
        """Of the primary latency: p50, p99, max …"""
        value = None if self.latency is None else self.latency.summary()[percentile]
        return None if value is None else value / 1000

    def as_dict(self) -> dict[str, Any]:
        return {
            "result_version": RESULT_VERSION,
            "run_id": self.run_id,
            "case": self.case.letter,
            "variant": self.case.variant,
            "verdict": self.verdict.value,
            "gates": self.report.as_dict(),
            "metrics": self.metrics,
            "lag_trend": self.lag_trend,
            "latency_us": None if self.latency is None else self.latency.summary(),
            "hops_us": {name: summary.summary() for name, summary in self.hops.items()},
            "ledger": None if self.account is None else self.account.as_dict(),
            "outages": [asdict(outage) for outage in self.outages],
            "resources": self.resources,
            "driver_cpu_s_per_million": self.driver_cpu_s_per_million,
            "details": self.details,
        }
