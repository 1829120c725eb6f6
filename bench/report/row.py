"""The line of the summary: taken from a run once, shown by every format.

An INVALID run has no figures: what could not be measured is never a number in a table. Its charts are
shown all the same, for the search after the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.report.headline import headline
from bench.report.not_run import NotRun
from bench.report.run import Component, Run
from bench.verdict import Verdict

Mark = Literal["PASS", "FAIL", "INVALID", "NOT RUN"]


@dataclass(frozen=True)
class Figures:
    target_rate_per_s: float | None
    input_rate_per_s: float | None
    output_rate_per_s: float | None
    output_rate_peak_per_s: float | None
    latency_ms_p50: float | None
    latency_ms_p95: float | None
    latency_ms_p99: float | None
    latency_ms_max: float | None
    lag_max: float | None
    lag_slope_per_s: float | None
    lag_trend: str
    lost: float | None
    duplicates: float | None
    components: tuple[Component, ...]
    emission_delay_ms: dict[str, float | int]


@dataclass(frozen=True)
class Row:
    name: str
    case: str
    variant: str | None
    run_id: str | None
    #: The rate asked for: in a sweep it tells the runs of one case apart.
    asked_per_s: float | None
    mark: Mark
    headline: str
    #: Why there are no figures; empty where there are some.
    reason: str
    figures: Figures | None


def row_of(run: Run) -> Row:
    measured = run.verdict is not Verdict.INVALID
    return Row(
        name=run.name,
        case=run.case,
        variant=run.variant,
        run_id=run.run_id,
        asked_per_s=run.target_rate_per_s,
        mark=run.verdict.value,
        headline=headline(run),
        reason="" if measured else "; ".join(run.invalid_reasons),
        figures=_figures(run) if measured else None,
    )


def row_not_run(row: NotRun) -> Row:
    return Row(
        name=row.name,
        case=row.case,
        variant=row.variant,
        run_id=None,
        asked_per_s=None,
        mark="NOT RUN",
        headline=f"{row.name} was not run",
        reason=row.reason,
        figures=None,
    )


def _figures(run: Run) -> Figures:
    metrics = run.metrics
    counts = run.ledger.counts if run.ledger else {}

    def latency_ms(name: str) -> float | None:
        value = run.latency_us.get(name)
        return None if value is None else value / 1000

    return Figures(
        target_rate_per_s=run.target_rate_per_s,
        input_rate_per_s=metrics.get("producer_rate_per_s"),
        output_rate_per_s=metrics.get("output_rate_per_s"),
        output_rate_peak_per_s=metrics.get("output_rate_peak_per_s"),
        latency_ms_p50=latency_ms("p50"),
        latency_ms_p95=latency_ms("p95"),
        latency_ms_p99=latency_ms("p99"),
        latency_ms_max=latency_ms("max"),
        lag_max=metrics.get("lag_max"),
        lag_slope_per_s=metrics.get("lag_slope_per_s"),
        lag_trend=run.lag_trend,
        lost=counts.get("lost"),
        duplicates=counts.get("duplicates"),
        components=run.components,
        emission_delay_ms=run.emission_delay_ms,
    )
