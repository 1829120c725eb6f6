"""The statistics that gates stand on: known answers, robustness, and a clear error for input too short."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.stats import (
    THEIL_SEN_POINTS,
    halves_ratio,
    mean_rate,
    peak_rate,
    per_window_minima,
    theil_sen_slope,
    trend_word,
)

relaxed = settings(deadline=None)  # a busy machine is no finding

NAN = float("nan")


@relaxed
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(-1000, 1000)), min_size=3, max_size=30))
def test_slope_is_the_median_of_all_pairs(points: list[tuple[int, int]]) -> None:
    """If this fails, the bounded-lag gate judges by another slope than Theil and Sen's."""
    points = sorted(points)
    slopes = [(y2 - y1) / (t2 - t1) for (t1, y1), (t2, y2) in combinations(points, 2) if t2 > t1]
    t, y = [p[0] for p in points], [p[1] for p in points]
    if not slopes:
        with pytest.raises(ValueError, match="same time"):
            theil_sen_slope(t, y)
    else:
        assert theil_sen_slope(t, y) == pytest.approx(median(slopes))


def test_slope_survives_a_stall() -> None:
    """If this fails, one garbage collection of some seconds turns a flat lag into a rising one."""
    t = np.arange(100.0)
    y = 3.0 * t
    y[40:65] += 1e6
    assert theil_sen_slope(t, y) == pytest.approx(3.0, abs=1e-6)


def test_slope_of_a_long_series_is_thinned_but_keeps_both_ends() -> None:
    """If this fails, an hour's run takes gigabytes to judge, or is judged by only a part of it."""
    t = np.arange(20 * THEIL_SEN_POINTS, dtype=np.float64)
    noise = np.random.default_rng(7).normal(0, 5, t.size)
    assert theil_sen_slope(t, 0.5 * t + noise) == pytest.approx(0.5, abs=0.01)
    only_the_last_rises = np.where(t > t.size * 0.2, t, 0.0)
    assert theil_sen_slope(t, only_the_last_rises) > 0.9


def test_minima_of_a_sawtooth_are_its_troughs() -> None:
    """If this fails, the sawtooth of a windowed engine is mistaken for growing lag."""
    t = np.arange(3.0, 47.0, 0.5)
    y = (t % 10) * 1000 + 7
    starts, minima = per_window_minima(t, y, 10)
    assert starts.tolist() == [10.0, 20.0, 30.0]
    assert minima.tolist() == [7.0, 7.0, 7.0]


def test_a_cut_window_is_left_out_at_both_ends() -> None:
    """If this fails, the half window at the end of a run adds a trough that is too high."""
    starts, minima = per_window_minima([0, 5, 10, 15, 20, 25], [9, 1, 8, 2, 7, 3], 10)
    assert (starts.tolist(), minima.tolist()) == ([0.0, 10.0], [1.0, 2.0])
    starts, minima = per_window_minima([0.1, 5, 10, 15, 20], [9, 1, 8, 2, 7], 10)
    assert (starts.tolist(), minima.tolist()) == ([10.0], [2.0])


def test_a_window_without_a_sample_is_an_error() -> None:
    """If this fails, a stretch in which nobody measured passes as a stretch without lag."""
    with pytest.raises(ValueError, match=r"no sample in the window that starts at t=10\.0"):
        per_window_minima([0, 5, 25, 30], [1, 1, 1, 1], 10)


def test_halves_ratio_compares_medians() -> None:
    """If this fails, a p99 that doubles during a run is called stable."""
    assert halves_ratio([10, 10, 99, 20, 30], floor=1) == 2.5
    assert halves_ratio([20, 20, 10, 10], floor=1) == 0.5


def test_halves_ratio_has_a_floor() -> None:
    """If this fails, 0.4 ms after 0.1 ms, or anything after 0, fails a run."""
    assert halves_ratio([0.1, 0.1, 0.4, 0.4], floor=1) == 1.0
    assert halves_ratio([0, 0, 3, 3], floor=1) == 3.0


def test_rates() -> None:
    """If this fails, matching rates are judged by wrong ones."""
    t, counter = [0, 1, 2, 4], [100, 200, 500, 500]
    assert mean_rate(t, counter) == 100.0
    assert peak_rate(t, counter) == 300.0


def test_peak_rate_ignores_stretches_too_short_to_mean_anything() -> None:
    """If this fails, two samples a millisecond apart report a peak of a hundred times the load."""
    assert peak_rate([0, 1, 1.001, 2], [0, 100, 200, 300]) == 200.0


@pytest.mark.parametrize(
    ("slope", "word"), [(0, "flat"), (500, "flat"), (-500, "flat"), (501, "rising"), (-501, "falling")]
)
def test_trend_word(slope: float, word: str) -> None:
    """If this fails, a report calls a growing lag flat."""
    assert trend_word(slope, rate=50_000) == word


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theil_sen_slope([], []), "0 points, at least 3"),
        (lambda: theil_sen_slope([1, 2], [1, 2]), "2 points, at least 3"),
        (lambda: theil_sen_slope([1, 1, 1], [1, 2, 3]), "same time"),
        (lambda: theil_sen_slope([1, 2, 3], [1, NAN, 3]), r"y\[1\] is nan"),
        (lambda: theil_sen_slope([1, 2, 3], [1, 2]), "3 times but 2 values"),
        (lambda: theil_sen_slope([2, 1, 3], [1, 2, 3]), "times go backwards"),
        (lambda: theil_sen_slope(np.zeros((2, 2)), np.zeros((2, 2))), "2 dimensions"),
        (lambda: per_window_minima([], [], 10), "0 points"),
        (lambda: per_window_minima([1, 19], [1, 1], 10), "no whole window"),
        (lambda: per_window_minima([1, 19], [1, 1], 0), "window_s"),
        (lambda: halves_ratio([], floor=1), "0 values, at least 4"),
        (lambda: halves_ratio([1, 2, 3], floor=1), "3 values, at least 4"),
        (lambda: halves_ratio([1, 2, 3, NAN], floor=1), r"values\[3\] is nan"),
        (lambda: halves_ratio([1, 2, 3, 4], floor=0), "floor"),
        (lambda: mean_rate([1], [1]), "1 points, at least 2"),
        (lambda: mean_rate([1, 1], [1, 2]), "same time"),
        (lambda: mean_rate([1, 2], [2, 1]), "counter goes backwards"),
        (lambda: peak_rate([], []), "0 points"),
        (lambda: peak_rate([0, 0.1], [0, 1]), r"no stretch of 0\.5 s"),
        (lambda: peak_rate([0, 1], [0, 1], span_s=0), "more than 0"),
        (lambda: trend_word(1, rate=0), "rate above 0"),
        (lambda: trend_word(NAN, rate=1), "finite"),
    ],
)
def test_too_little_to_judge_is_an_error(call: Callable[[], object], message: str) -> None:
    """If this fails, a statistic of nothing is a number, and a gate passes on it."""
    with pytest.raises(ValueError, match=message):
        call()
