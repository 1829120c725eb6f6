"""A case of the suite: a workload, the rate at which it comes, and what is asked of the join. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.gates import Gate
from bench.joins.workload import Workload

EXACT: tuple[Gate, ...] = (
    Gate("missing", "==", 0, "every row that is due comes"),
    Gate("duplicates", "==", 0, "no fact comes twice"),
    Gate("wrong", "==", 0, "every fact meets the very rows it should, and their values"),
    Gate("unexpected", "==", 0, "nothing comes that is not due"),
    Gate("emitted_twice", "==", 0, "nor does the broker's deduplication hide that it would"),
    Gate("late_dropped", "==", 0, "Spark drops no row behind its watermark"),
    Gate("state_left", "==", 0, "what has expired leaves the state"),
    Gate("late", "==", 0, "no row is later than the case allows"),
)
PUBLISHED: tuple[Gate, ...] = (
    Gate("unacked", "==", 0, "the generator published all it should", kind="validity"),
    Gate("republished", "==", 0, "and in order", kind="validity"),
)


@dataclass(frozen=True)
class Alerts:
    """What somebody is woken up for. Bounds of the machine at hand; None is not watched."""

    high_latency_ms: float | None = None
    low_throughput_per_s: float | None = None
    low_join_rate: float | None = None

    def gates(self) -> tuple[Gate, ...]:
        gates = []
        if self.high_latency_ms is not None:
            gates.append(Gate("latency_ms_p99", "<=", self.high_latency_ms, "alert HighLatency"))
        if self.low_throughput_per_s is not None:
            gates.append(Gate("events_per_s", ">=", self.low_throughput_per_s, "alert LowThroughput"))
        if self.low_join_rate is not None:
            gates.append(Gate("join_rate", ">=", self.low_join_rate, "alert LowJoinRate"))
        return tuple(gates)


@dataclass(frozen=True)
class JoinCase:
    name: str
    workload: Workload
    #: Rows of all topics together; None: everything is published before the join starts.
    rows_per_s: int | None = None
    #: Latency counts from here on: the query starts its planner, workers and connections before.
    warmup_s: float = 0.0
    alerts: Alerts = field(default_factory=Alerts)
    late_after_s: float = 60.0
    #: Of a micro-batch; 0 is no limit.
    batch_rows: int = 0
    trigger_ms: int = 100
    #: The producers' slip (p99) beyond which nothing was measured.
    most_slip_ms: float = 1_000.0

    @property
    def live(self) -> bool:
        return self.rows_per_s is not None

    def gates(self) -> tuple[Gate, ...]:
        gates = (*EXACT, *self.alerts.gates())
        if not self.live:
            return gates
        slip = Gate("slip_ms_p99", "<=", self.most_slip_ms, "the load came when it should", kind="validity")
        return (*gates, *PUBLISHED, slip)
