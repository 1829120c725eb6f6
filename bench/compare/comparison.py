"""Runs against runs: those of the same case and rate are compared, those that must not be are refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench import exit_codes
from bench.compare.change import Change, changes
from bench.compare.metric import EXACT, METRICS, Metric
from bench.compare.sameness import sameness
from bench.compare.samples import samples_of
from bench.report.run import Run
from bench.verdict import Verdict

Finding = Literal["regression", "no regression", "invalid", "no baseline"]


@dataclass(frozen=True)
class CaseComparison:
    name: str
    finding: Finding
    #: Why, in words; a regression lists every way in which it is one.
    reasons: tuple[str, ...]
    #: What differs and was let through.
    flags: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    base_ids: tuple[str, ...] = ()
    new_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    cases: tuple[CaseComparison, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """A regression stands whatever else could not be told; what could not be measured may hide one."""
        found = {case.finding for case in self.cases}
        if "regression" in found:
            return exit_codes.REGRESSION
        if "invalid" in found:
            return exit_codes.INVALID
        return exit_codes.NO_BASELINE if "no baseline" in found or not found else 0


def compare_runs(
    base: Sequence[Run],
    new: Sequence[Run],
    accepted: Collection[str] = (),
    metrics: Sequence[Metric] = METRICS,
) -> Comparison:
    """Every case and rate of `new` against the same of `base`; what only the base has is not asked for."""
    groups: dict[tuple[str, float | None], list[Run]] = {}
    rate_matters = "load" not in accepted and "load.rate_per_s" not in accepted

    def key(run: Run) -> tuple[str, float | None]:
        return run.name, run.target_rate_per_s if rate_matters else None

    for run in new:
        groups.setdefault(key(run), []).append(run)
    several = {name for name, _ in groups if sum(name == other for other, _ in groups) > 1}
    return Comparison(
        tuple(
            _compared(
                f"{name} at {rate:,.0f}/s" if name in several and rate is not None else name,
                [run for run in base if run.name == name],
                group,
                accepted,
                metrics,
            )
            for (name, rate), group in groups.items()
        )
    )


def _compared(
    name: str, base: list[Run], new: list[Run], accepted: Collection[str], metrics: Sequence[Metric]
) -> CaseComparison:
    measured = [run for run in new if run.verdict is not Verdict.INVALID]
    new_ids = tuple(run.run_id for run in new)
    if not measured:
        reasons = [f"{run.run_id}: {'; '.join(run.invalid_reasons)}" for run in new]
        return CaseComparison(name, "invalid", tuple(reasons), new_ids=new_ids)
    fitting, refusals, flags = _fitting(base, measured, accepted)
    if not fitting:
        return CaseComparison(name, "no baseline", _unique(refusals), new_ids=new_ids)
    flags += [f"left out, INVALID: {run.run_id}" for run in new if run not in measured]
    flags += [f"the base itself fails its gates: {run.run_id}" for run in fitting if _failed(run)]
    found = changes(metrics, [samples_of(run) for run in fitting], [samples_of(run) for run in measured])
    reasons = [*_broken_gates(fitting, measured), *_more_of_what_must_not_be(fitting, measured)]
    reasons += [change.metric.name for change in found if change.word == "worse"]
    finding: Finding = "regression" if reasons else "no regression"
    if not reasons and all(change.word == "unknown" for change in found):
        finding, reasons = "invalid", ["too few samples to tell anything: measure longer or more often"]
    return CaseComparison(
        name,
        finding,
        tuple(reasons),
        _unique(flags),
        tuple(found),
        tuple(run.run_id for run in fitting),
        tuple(run.run_id for run in measured),
    )


def _fitting(
    base: list[Run], new: list[Run], accepted: Collection[str]
) -> tuple[list[Run], list[str], list[str]]:
    """The base runs that may be compared with these, why others may not, and what was let through."""
    fitting: list[Run] = []
    refusals: list[str] = []
    flags: list[str] = []
    for run in base:
        if run.verdict is Verdict.INVALID:
            refusals.append(f"{run.run_id} is INVALID, so it is no baseline")
            continue
        found = [sameness(run.manifest, other.manifest, accepted) for other in new]
        refused = [str(difference) for one in found for difference in one.refused]
        if refused:
            refusals += [f"refused, {text}" for text in refused]
            continue
        fitting.append(run)
        flags += [str(difference) for one in found for difference in one.flagged]
    return fitting, refusals or ["there is no run of this case to compare with"], flags


def _failed(run: Run) -> bool:
    return run.verdict is Verdict.FAIL


def _broken_gates(base: list[Run], new: list[Run]) -> list[str]:
    """Gates that the new runs violate and no run of the base does."""
    before = {gate.metric for run in base for gate in run.violated}
    after = [gate.metric for run in new for gate in run.violated]
    return [f"gate {metric} is violated" for metric in dict.fromkeys(after) if metric not in before]


def _more_of_what_must_not_be(base: list[Run], new: list[Run]) -> list[str]:
    """Lost and duplicate messages are counted one by one: one more than the worst base run is a finding."""
    told = []
    for name in EXACT:
        before, after = (
            max((run.ledger.counts.get(name, 0) for run in side if run.ledger), default=0)
            for side in (base, new)
        )
        if after > before:
            told.append(f"{name}: {after:,.0f} instead of {before:,.0f}")
    return told


def _unique(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
