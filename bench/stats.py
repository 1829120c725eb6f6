"""The statistics that gates are made of: pure functions of plain arrays.

Goals: one implementation of each, robust to a single bad second. Input too short or not finite is a
ValueError that says what was missing: the caller turns it into INVALID. Never a 0 that a gate would pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Series = Sequence[float] | Sequence[int] | npt.NDArray[np.float64] | npt.NDArray[np.int64]

# 400 points are 79,800 pairs: 4 ms and under 4 MB. All pairs of an hour at one sample a
# second would be 6.5 million.
THEIL_SEN_POINTS = 400


def theil_sen_slope(t: Series, y: Series) -> float:
    """Median of the slopes of all pairs of points, in units of y per unit of t.

    Up to 29 % of the points may be arbitrarily wrong without moving it at will; one stall moves a
    least-squares line. A series longer than THEIL_SEN_POINTS is thinned to that many evenly spaced samples,
    both ends kept: real points rather than block averages, since averaging would let an outlier leak into
    its neighbours.
    """
    times, values = _pair("theil_sen_slope", t, y, at_least=3)  # two points are a line whatever happened
    if times.size > THEIL_SEN_POINTS:
        kept = np.linspace(0, times.size - 1, THEIL_SEN_POINTS).round().astype(np.intp)
        times, values = times[kept], values[kept]
    first, second = np.triu_indices(times.size, k=1)
    run = times[second] - times[first]
    apart = run > 0
    if not apart.any():
        raise ValueError("theil_sen_slope: all points have the same time, so there is no slope")
    rise = values[second] - values[first]
    return float(np.median(rise[apart] / run[apart]))


def per_window_minima(t: Series, y: Series, window_s: float) -> tuple[Floats, Floats]:
    """Start and lowest y of each whole window [k * window_s, (k + 1) * window_s).

    The lag of a windowed engine is a sawtooth: its troughs say whether it keeps up, its slope says nothing.
    A window is whole when samples reach from its start to its end: a cut one would show a trough that is
    too high.
    """
    times, values = _pair("per_window_minima", t, y, at_least=2)
    if not window_s > 0:
        raise ValueError(f"per_window_minima: window_s is {window_s}, wanted more than 0")
    first = int(np.ceil(times[0] / window_s))
    after_last = int(np.floor(times[-1] / window_s))
    if after_last <= first:
        raise ValueError(
            f"per_window_minima: no whole window of {window_s} s between t={times[0]} and t={times[-1]}"
        )
    edges: Floats = np.arange(first, after_last + 1, dtype=np.float64) * float(window_s)
    cuts = np.searchsorted(times, edges)
    empty = np.flatnonzero(cuts[1:] == cuts[:-1])
    if empty.size:
        raise ValueError(f"per_window_minima: no sample in the window that starts at t={edges[empty[0]]}")
    minima: Floats = np.minimum.reduceat(values[: cuts[-1]], cuts[:-1])
    return edges[:-1], minima


def halves_ratio(values: Series, floor: float) -> float:
    """Median of the second half over median of the first; an odd one in the middle belongs to neither.

    Both medians are raised to `floor` first: 0.4 ms after 0.1 ms is a factor of 4 and no finding.
    """
    if not floor > 0:
        raise ValueError(f"halves_ratio: floor is {floor}, wanted more than 0")
    series = _finite("halves_ratio", "values", values)
    if series.size < 4:
        raise ValueError(f"halves_ratio: {series.size} values, at least 4 are needed (2 in each half)")
    half = series.size // 2
    before, after = float(np.median(series[:half])), float(np.median(series[-half:]))
    return max(after, floor) / max(before, floor)


def mean_rate(t: Series, counter: Series) -> float:
    """Increase of a counter per unit of t, from the first sample to the last."""
    times, counts = _counter("mean_rate", t, counter)
    return float((counts[-1] - counts[0]) / (times[-1] - times[0]))


def peak_rate(t: Series, counter: Series, span_s: float = 0.5) -> float:
    """Highest rate of a counter over any stretch of samples at least `span_s` long.

    Two samples a millisecond apart show the scheduler's jitter, not a peak: shorter stretches are not
    looked at.
    """
    times, counts = _counter("peak_rate", t, counter)
    ends = np.searchsorted(times, times + span_s)
    starts = np.flatnonzero(ends < times.size)
    ends = ends[starts]
    elapsed = times[ends] - times[starts]
    if not starts.size or not elapsed.min() > 0:
        raise ValueError(
            f"peak_rate: no stretch of {span_s} s (more than 0) in samples {times[0]}..{times[-1]}"
        )
    return float(np.max((counts[ends] - counts[starts]) / elapsed))


def trend_word(slope: float, rate: float, flat_share: float = 0.01) -> Literal["flat", "rising", "falling"]:
    """A word for a lag's slope (events per second) beside the rate it arises at (events per second).

    A lag that grows by less than `flat_share` of the rate is flat.
    """
    if not (np.isfinite(slope) and np.isfinite(rate) and rate > 0):
        raise ValueError(f"trend_word: slope {slope}, rate {rate}: wanted finite numbers and a rate above 0")
    if abs(slope) <= flat_share * rate:
        return "flat"
    return "rising" if slope > 0 else "falling"


def _finite(function: str, name: str, series: Series) -> Floats:
    values: Floats = np.asarray(series, np.float64)
    if values.ndim != 1:
        raise ValueError(f"{function}: {name} has {values.ndim} dimensions, wanted 1")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"{function}: {name}[{bad[0]}] is {values[bad[0]]}, wanted finite numbers")
    return values


def _pair(function: str, t: Series, y: Series, at_least: int) -> tuple[Floats, Floats]:
    times, values = _finite(function, "t", t), _finite(function, "y", y)
    if times.size != values.size:
        raise ValueError(f"{function}: {times.size} times but {values.size} values")
    if times.size < at_least:
        raise ValueError(f"{function}: {times.size} points, at least {at_least} are needed")
    if (times[1:] < times[:-1]).any():
        raise ValueError(f"{function}: times go backwards, so they are not from one monotonic clock")
    return times, values


def _counter(function: str, t: Series, counter: Series) -> tuple[Floats, Floats]:
    times, counts = _pair(function, t, counter, at_least=2)
    if (counts[1:] < counts[:-1]).any():
        raise ValueError(f"{function}: the counter goes backwards, so its owner was restarted")
    if times[-1] == times[0]:
        raise ValueError(f"{function}: all samples have the same time, so there is no rate")
    return times, counts
