"""Case C on Spark at rising rates, each a whole run with all its gates: which is the highest that passes?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cases import case_c
from bench.engine.spark import SparkEngine, SparkSettings
from bench.engine_pipeline import EngineCase
from bench.outcome import Outcome
from bench.pipeline_c import PipelineC
from bench.progress import Progress
from bench.run import run_case
from bench.settings import RawOptions, Settings, check_options, new_run_id
from bench.stack import Stack
from bench.verdict import Verdict


@dataclass(frozen=True)
class Rung:
    rate_per_s: int
    verdict: str
    reasons: tuple[str, ...]
    emission_delay_ms_p50: float | None
    emission_delay_ms_p99: float | None
    run: str


@dataclass(frozen=True)
class Length:
    warmup_s: int
    measure_s: int


def climb(
    stack: Stack,
    rates: Sequence[int],
    length: Length,
    spark: SparkSettings,
    reports: Path,
    show: Callable[[str], None],
) -> list[Rung]:
    """From the lowest rate on; stops after the first that does not pass."""
    rungs: list[Rung] = []
    for rate in sorted(rates):
        show(f"case C-spark at {rate:,} events/s")
        rungs.append(_rung(_run(stack, _settings(rate, length), spark, reports)))
        if rungs[-1].verdict != Verdict.PASS:
            break
    return rungs


def _settings(rate: int, length: Length) -> Settings:
    """Standard in all but time. On file: a memory stream of this size would put the broker under pressure."""
    raw = RawOptions(
        profile="standard",
        storage="file",
        rate=str(rate),
        warmup=str(length.warmup_s),
        measure=str(length.measure_s),
    )
    return check_options(raw)


def _run(stack: Stack, settings: Settings, spark: SparkSettings, reports: Path) -> Outcome:
    case = case_c(settings, SparkEngine.variant)
    return run_case(
        case,
        stack,
        run_id=new_run_id(case.name),
        reports_dir=reports,
        progress=Progress(None),
        builder=EngineCase(SparkEngine(spark), PipelineC),
        settings={"profile": settings.profile.name},
    )


def _rung(outcome: Outcome) -> Rung:
    report = outcome.report
    return Rung(
        outcome.case.load.rate_per_s,
        outcome.verdict.value,
        (*report.invalid_reasons, *map(str, report.violations)),
        outcome.metrics.get("emission_delay_ms_p50"),
        outcome.metrics.get("emission_delay_ms_p99"),
        outcome.run_id,
    )


def sustained(rungs: Sequence[Rung]) -> int | None:
    """The highest rate that passed every gate."""
    return max((rung.rate_per_s for rung in rungs if rung.verdict == Verdict.PASS), default=None)


def emission_delay_ms_p99(rungs: Sequence[Rung], rate_per_s: int) -> float | None:
    """At this rate; None if it was not run or could not be measured."""
    return next(
        (
            rung.emission_delay_ms_p99
            for rung in rungs
            if rung.rate_per_s == rate_per_s and rung.verdict != Verdict.INVALID
        ),
        None,
    )
