"""One run as the report sees it: what its folder holds, typed, with None for what is not there."""

from __future__ import annotations

from dataclasses import dataclass

from bench.report.histogram_log import HistogramLog
from bench.report.plain import Json
from bench.verdict import Verdict


@dataclass(frozen=True)
class GateRow:
    metric: str
    comparison: str
    bound: float | None
    observed: float | None
    status: str
    why: str
    kind: str


@dataclass(frozen=True)
class Hop:
    """Latency between two points of the pipeline; percentiles in µs by name."""

    name: str
    figures_us: dict[str, float | int]

    @property
    def title(self) -> str:
        return self.name.replace("_to_", " → ").replace("_", " ")


@dataclass(frozen=True)
class Component:
    name: str
    cpu_cores_mean: float | None
    rss_bytes_max: float | None


@dataclass(frozen=True)
class OutageRow:
    who: str
    what: str
    at_s: float | None
    lasted_ms: float | None


@dataclass(frozen=True)
class Ledger:
    counts: dict[str, float | int]
    examples: dict[str, list[str]]


@dataclass(frozen=True)
class Run:
    run_id: str
    case: str
    variant: str | None
    verdict: Verdict
    #: Why it is INVALID, in the harness's words.
    invalid_reasons: tuple[str, ...]
    gates: tuple[GateRow, ...]
    metrics: dict[str, float | int]
    lag_trend: str
    latency_us: dict[str, float | int]
    hops: tuple[Hop, ...]
    ledger: Ledger | None
    outages: tuple[OutageRow, ...]
    components: tuple[Component, ...]
    driver_cpu_s_per_million: dict[str, float | int]
    emission_delay_ms: dict[str, float | int]
    window_s: float | None
    warmup_s: float
    measure_s: float | None
    target_rate_per_s: float | None
    samples: tuple[Json, ...]
    resources: tuple[Json, ...]
    #: What an engine told of itself: records with a "kind" and fields of their own.
    progress: tuple[Json, ...]
    histograms: HistogramLog
    manifest: Json
    details: Json
    #: What is missing from the folder or could not be read.
    damage: tuple[str, ...]
    #: What a search found that this run confirms, in one sentence; empty outside a search.
    search: str = ""

    @property
    def name(self) -> str:
        return f"{self.case}-{self.variant}" if self.variant else self.case

    @property
    def violated(self) -> tuple[GateRow, ...]:
        """Ordinary gates that do not hold; validity gates speak through the reasons."""
        return tuple(gate for gate in self.gates if gate.status == "violated" and gate.kind != "validity")
