"""How large the suite's cases are: in CI, and in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.joins.case import Alerts, JoinCase
from bench.joins.publishing import facts_per_s
from bench.joins.scenarios import Size
from bench.joins.truth import truth_of
from bench.joins.workload import Workload

#: The alert LowJoinRate is this much below what the workload gives.
RATE_TOLERANCE = 0.03

Make = Callable[[Size], Workload]


@dataclass(frozen=True)
class Sizes:
    full: bool
    #: Of a live case, over all topics.
    rows_per_s: int
    live_s: float
    #: A kill and a restart must fit in.
    recovery_s: float
    warmup_s: float
    #: Rows that are there before the join starts, over all topics, and of a micro-batch of them.
    backlog_rows: int
    batch_rows: int
    keys: int
    spread: int
    #: Alert bounds. At smoke size they only say that rows did come: speed is told there, not judged.
    high_latency_ms: float
    #: Of the rate asked for.
    throughput_share: float
    late_after_s: float
    #: Of the producers, p99: beyond it nothing was measured.
    most_slip_ms: float
    #: Of the long run, where nothing else is asked for.
    soak_s: float
    #: Devices whose status is kept at a time in the memory stress.
    stress_keys: int

    def live(
        self, name: str, make: Make, rows_per_s: int | None = None, seconds: float | None = None
    ) -> JoinCase:
        rate = rows_per_s or self.rows_per_s
        workload = self._of(make, int(rate * (seconds or self.live_s)), rate)
        alerts = Alerts(self.high_latency_ms, self.throughput_share * rate, _least_join_rate(workload))
        return JoinCase(
            name,
            workload,
            rate,
            self.warmup_s,
            alerts,
            self.late_after_s,
            most_slip_ms=self.most_slip_ms,
        )

    def warm_up(self, make: Make) -> JoinCase | None:
        """Played before a live case at full size: a JVM compiles what it runs often."""
        return self.backlog("warm-up", make, self.backlog_rows // 8) if self.full else None

    def backlog(self, name: str, make: Make, rows: int | None = None) -> JoinCase:
        workload = self._of(make, rows or self.backlog_rows, self.rows_per_s)
        alerts = Alerts(low_join_rate=_least_join_rate(workload))
        return JoinCase(name, workload, alerts=alerts, batch_rows=self.batch_rows)

    def _of(self, make: Make, rows: int, rows_per_s: int) -> Workload:
        """So many facts that all topics together have about so many rows."""
        probe = make(Size(rows, self.keys, self.spread))
        facts = facts_per_s(probe, rows)
        return make(Size(max(100, facts), self.keys, self.spread, facts_per_s(probe, rows_per_s)))


def _least_join_rate(workload: Workload) -> float:
    return float(truth_of(workload).hits.mean()) - RATE_TOLERANCE


SMOKE = Sizes(
    full=False,
    rows_per_s=4_000,
    live_s=2.0,
    recovery_s=5.0,
    warmup_s=0.0,
    backlog_rows=20_000,
    batch_rows=5_000,
    keys=1_000,
    spread=256,
    high_latency_ms=120_000.0,
    throughput_share=0.01,
    late_after_s=240.0,
    most_slip_ms=30_000.0,
    soak_s=20.0,
    stress_keys=20_000,
)
FULL = Sizes(
    full=True,
    rows_per_s=10_000,
    live_s=24.0,
    recovery_s=60.0,
    warmup_s=8.0,
    backlog_rows=600_000,
    batch_rows=100_000,
    keys=50_000,
    spread=4_096,
    high_latency_ms=5_000.0,
    throughput_share=0.9,
    late_after_s=60.0,
    most_slip_ms=500.0,
    soak_s=180.0,
    stress_keys=300_000,
)
