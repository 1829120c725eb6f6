"""The statistics of a comparison: pure functions of plain samples.

Neighbouring seconds are alike: taken for independent they would make any difference look certain. Each
series is first cut into blocks as long as it remembers itself, and each block counts once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, islice, pairwise

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap, mannwhitneyu

Floats = npt.NDArray[np.float64]

#: With fewer independent values no test can tell anything: 4 against 4 reaches p = 0.03 at best.
FEWEST = 4
CONFIDENCE = 0.95
_RESAMPLES = 4_000
#: Ways to split 10 runs in halves; with more runs a sample of the ways says as much.
_MOST_SPLITS = 252


def memory_length(series: Sequence[float]) -> int:
    """For how many values a series remembers itself: its integrated autocorrelation time, at least 1.

    Summed up to the first correlation that is not above chance (2 / sqrt n): in a short series the rest is
    noise, and a series of independent values would seem to remember.
    """
    values = np.asarray(series, np.float64)
    centred = values - values.mean()
    power = float(centred @ centred)
    if values.size < 2 * FEWEST or power == 0.0:
        return 1
    total = 1.0
    for lag in range(1, values.size // FEWEST + 1):
        correlation = float(centred[:-lag] @ centred[lag:]) / power
        if correlation <= 2 / math.sqrt(values.size):
            break
        total += 2 * correlation
    return max(1, min(math.ceil(total), values.size // FEWEST))


def independent(series: Sequence[float]) -> list[float]:
    """Medians of blocks as long as the series' memory; the rest at the end joins the last block."""
    length = memory_length(series)
    blocks = max(1, len(series) // length)
    cuts = [*(index * length for index in range(blocks)), len(series)]
    return [float(np.median(series[start:end])) for start, end in pairwise(cuts) if end > start]


def relative_change(base: Sequence[float], new: Sequence[float]) -> float:
    """Of the medians, as a share of the base's; nothing to something is infinitely more."""
    before, after = float(np.median(base)), float(np.median(new))
    if before == 0.0:
        return 0.0 if after == 0.0 else math.copysign(math.inf, after)
    return (after - before) / abs(before)


def change_interval(base: Sequence[float], new: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Bootstrap confidence interval of the relative change; the same samples always give the same one."""
    if float(np.median(base)) == 0.0:
        change = relative_change(base, new)
        return change, change

    def change_of(one: Floats, other: Floats, axis: int = -1) -> Floats:
        before, after = np.median(one, axis=axis), np.median(other, axis=axis)
        # A resample whose base is 0 has no share; it counts as the whole.
        safe = np.where(before == 0.0, np.inf, np.abs(before))
        share: Floats = np.where(before == 0.0, np.sign(after), (after - before) / safe)
        return share

    found = bootstrap(
        (np.asarray(base, np.float64), np.asarray(new, np.float64)),
        change_of,
        paired=False,
        vectorized=True,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def chance(base: Sequence[float], new: Sequence[float]) -> float:
    """p of the two-sided Mann–Whitney test: how often the same source would give samples this far apart."""
    if len(set(base) | set(new)) == 1:
        return 1.0
    return float(mannwhitneyu(base, new, alternative="two-sided").pvalue)


def corrected(chances: Sequence[float]) -> list[float]:
    """Holm's correction: among twenty metrics one is beyond 5 % by chance alone."""
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    out = [1.0] * len(chances)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[index]))
        out[index] = highest
    return out


def noise_of_runs(values: Sequence[float]) -> float:
    """The largest change of one side against itself (A/A): over the ways to split its runs in halves."""
    everything = range(len(values))
    largest = 0.0
    for chosen in islice(combinations(everything, len(values) // 2), _MOST_SPLITS):
        one = [values[index] for index in chosen]
        rest = [values[index] for index in everything if index not in chosen]
        if one:
            largest = max(largest, abs(relative_change(one, rest)))
    return largest


def noise_within(series: Sequence[float]) -> float:
    """Of a single run: its first half against its second, which knows nothing of what differs by run."""
    half = len(series) // 2
    return abs(relative_change(series[:half], series[-half:])) if half >= 2 else 0.0
