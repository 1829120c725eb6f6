"""One metric of one case: how it changed, how sure that is, and what to call it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bench.compare.metric import SLIP, Metric
from bench.compare.statistics import (
    FEWEST,
    chance,
    change_interval,
    corrected,
    independent,
    noise_of_runs,
    noise_within,
    relative_change,
)

Word = Literal["worse", "better", "same", "unknown"]
Unit = Literal["run", "sample"]

#: After Holm's correction over all metrics of a case.
ALPHA = 0.05
#: From this many runs a side on, runs are what is counted: 5 against 5 reaches p = 0.008.
RUNS_ENOUGH = 5
#: With fewer runs nobody knows what differs from run to run by chance: a change must be this much larger.
FEW_RUNS_FACTOR = 2.0


@dataclass(frozen=True)
class Change:
    metric: Metric
    word: Word
    #: Medians; None where a side has too little.
    base: float | None = None
    new: float | None = None
    change_share: float | None = None
    low_share: float | None = None
    high_share: float | None = None
    #: Mann–Whitney, corrected for the number of metrics.
    p: float | None = None
    #: The larger of the practical threshold (doubled where runs are few) and the noise floor.
    threshold_share: float = 0.0
    noise_share: float = 0.0
    #: And the change must be larger than this, in the metric's unit: the floor, and the change of the slip.
    threshold: float = 0.0
    #: What was counted: runs where there are enough of them, else independent stretches of the samples.
    unit: Unit = "sample"
    counted: tuple[int, int] = (0, 0)

    @property
    def worsening_share(self) -> float | None:
        """Positive where it is worse, whatever the metric's direction."""
        if self.change_share is None:
            return None
        return self.change_share if self.metric.better == "lower" else -self.change_share


def changes(
    metrics: Sequence[Metric], base: Sequence[dict[str, list[float]]], new: Sequence[dict[str, list[float]]]
) -> list[Change]:
    """Of one case: every metric that either side has samples of. Each run is a dict of samples by metric."""
    slip_ms = _slip_change_ms(base, new)
    found = [_measured(metric, _of(base, metric.name), _of(new, metric.name), slip_ms) for metric in metrics]
    told = [change for change in found if change is not None]
    known = [change for change in told if change.p is not None]
    p_values = iter(corrected([change.p for change in known if change.p is not None]))
    judged = {change.metric.name: _judged(replace(change, p=next(p_values))) for change in known}
    return [judged.get(change.metric.name, change) for change in told]


def _of(runs: Sequence[dict[str, list[float]]], name: str) -> list[list[float]]:
    return [run[name] for run in runs if run.get(name)]


def _slip_change_ms(base: Sequence[dict[str, list[float]]], new: Sequence[dict[str, list[float]]]) -> float:
    """How much more or less the machine itself disturbed one side: that is nobody's regression."""
    before, after = (_of(side, SLIP) for side in (base, new))
    if not before or not after:
        return 0.0
    return abs(float(np.median(_values(after, "run")) - np.median(_values(before, "run"))))


def _measured(
    metric: Metric, base: list[list[float]], new: list[list[float]], slip_ms: float
) -> Change | None:
    if not base and not new:
        return None
    unit: Unit = "run" if min(len(base), len(new)) >= RUNS_ENOUGH else "sample"
    before, after = (_values(side, unit, metric.quantile) for side in (base, new))
    counted = (len(before), len(after))
    if min(counted) < FEWEST:
        return Change(metric, "unknown", unit=unit, counted=counted)
    low, high = change_interval(before, after)
    noise = _noise(base, new, metric.quantile)
    factor = 1.0 if unit == "run" else FEW_RUNS_FACTOR
    return Change(
        metric,
        "unknown",
        base=float(np.median(before)),
        new=float(np.median(after)),
        change_share=relative_change(before, after),
        low_share=low,
        high_share=high,
        p=chance(before, after),
        threshold_share=max(factor * metric.threshold_share, noise),
        threshold=factor * metric.floor + (slip_ms if metric.holds_slip else 0.0),
        noise_share=noise,
        unit=unit,
        counted=counted,
    )


def _noise(base: list[list[float]], new: list[list[float]], quantile: float) -> float:
    if len(base) == 1:
        # A single new run that grows slower all the time must not raise the bar for itself.
        return noise_within(base[0])
    sides = [side for side in (base, new) if len(side) > 1]
    return max(noise_of_runs(_values(side, "run", quantile)) for side in sides)


def _values(runs: list[list[float]], unit: Unit, quantile: float = 0.5) -> list[float]:
    if unit == "run":
        return [float(np.quantile(run, quantile)) for run in runs]
    return [value for run in runs for value in independent(run)]


def _judged(change: Change) -> Change:
    """Worse or better only where it is no chance, no noise, and large enough to matter."""
    share, low, high, p = change.worsening_share, change.low_share, change.high_share, change.p
    if share is None or low is None or high is None or p is None or change.base is None or change.new is None:
        return change
    sure = p < ALPHA and not low <= 0.0 <= high
    matters = abs(share) > change.threshold_share and abs(change.new - change.base) > change.threshold
    if not (sure and matters):
        return replace(change, word="same")
    return replace(change, word="worse" if share > 0 else "better")
