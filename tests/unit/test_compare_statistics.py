"""The statistics of a comparison, on samples whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.compare.change import changes
from bench.compare.metric import METRICS, Metric
from bench.compare.statistics import (
    chance,
    change_interval,
    corrected,
    independent,
    memory_length,
    noise_of_runs,
    noise_within,
    relative_change,
)

LATENCY = Metric("latency", "lower", 0.10)
POSITIVE = st.floats(0.1, 1e6, allow_nan=False)
SAMPLES = st.lists(POSITIVE, min_size=4, max_size=40)


def remembering(rng: np.random.Generator, count: int, memory: float) -> list[float]:
    """A series around 100 whose neighbours are alike: AR(1)."""
    values = [0.0]
    for step in rng.normal(0, 1, count):
        values.append(memory * values[-1] + math.sqrt(1 - memory**2) * step)
    return [100 + 10 * value for value in values[1:]]


def word(base: list[list[float]], new: list[list[float]], metric: Metric = LATENCY) -> str:
    (change,) = changes([metric], *([{metric.name: run} for run in side] for side in (base, new)))
    return change.word


@given(SAMPLES)
@settings(max_examples=25, deadline=None)
def test_a_series_against_itself_never_changed(samples: list[float]) -> None:
    """If this fails, the same file given twice is a regression."""
    assert relative_change(samples, samples) == 0.0
    assert word([samples], [samples]) in ("same", "unknown")


@given(SAMPLES, SAMPLES, st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_the_unit_does_not_matter(base: list[float], new: list[float], factor: float) -> None:
    """If this fails, milliseconds and microseconds give different verdicts."""
    scaled = [[value * factor for value in side] for side in (base, new)]
    assert relative_change(*scaled) == pytest.approx(relative_change(base, new), rel=1e-6, abs=1e-9)
    assert chance(base, new) == pytest.approx(chance(new, base))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_correction_never_makes_chance_smaller(chances: list[float]) -> None:
    """If this fails, more metrics would mean more certainty."""
    out = corrected(chances)
    assert all(given <= told <= 1 for given, told in zip(chances, out, strict=True))
    order = np.argsort(chances, kind="stable")
    assert all(np.diff(np.asarray(out)[order]) >= 0)


def test_the_interval_holds_the_true_change_about_as_often_as_it_says() -> None:
    """If this fails, "95 %" is a decoration."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(60):
        base, new = rng.lognormal(3, 0.2, 30), rng.lognormal(3, 0.2, 30) * 1.2
        low, high = change_interval(base.tolist(), new.tolist())
        held += low <= 0.2 <= high
    assert held >= 52


def test_a_series_that_remembers_itself_is_cut_into_longer_blocks() -> None:
    """If this fails, each second counts as news, and any drift looks certain."""
    rng = np.random.default_rng(3)
    alone = [memory_length(rng.normal(100, 10, 120).tolist()) for _ in range(40)]
    alike = [memory_length(remembering(rng, 120, 0.8)) for _ in range(40)]
    assert np.median(alone) == 1
    assert np.median(alike) >= 4
    assert memory_length([5.0] * 50) == 1
    assert len(independent(remembering(rng, 120, 0.8))) <= 40


def test_blocks_keep_every_sample() -> None:
    """If this fails, the end of a run is not compared."""
    assert independent([1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]
    slow = remembering(np.random.default_rng(5), 121, 0.9)
    length = memory_length(slow)
    assert len(independent(slow)) == 121 // length
    assert independent(slow)[-1] == np.median(slow[(121 // length - 1) * length :])


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_the_same_source_seldom_alarms(memory: float) -> None:
    """If this fails, people learn to ignore the gate: of 60 A/A comparisons at most 3 may be red."""
    rng = np.random.default_rng(11)
    red = 0
    for _ in range(60):
        base, new = remembering(rng, 120, memory), remembering(rng, 120, memory)
        red += word([base], [new]) != "same"
    assert red <= 3


def test_a_fifth_slower_is_found() -> None:
    """If this fails, a slowdown of 20 % passes five runs a side, or one of 30 % a single run."""
    rng = np.random.default_rng(13)
    found = {"samples": 0, "runs": 0}
    for _ in range(25):
        base, new = remembering(rng, 60, 0.3), [1.3 * value for value in remembering(rng, 60, 0.3)]
        found["samples"] += word([base], [new]) == "worse"
        runs = [[remembering(rng, 15, 0.3) for _ in range(5)] for _ in range(2)]
        slower = [[1.2 * value for value in run] for run in runs[1]]
        found["runs"] += word(runs[0], slower) == "worse"
    assert found["samples"] >= 24
    assert found["runs"] >= 24


def test_direction_belongs_to_the_metric() -> None:
    """If this fails, a higher rate is a regression."""
    base, more = [[100.0 + i % 3 for i in range(20)]], [[150.0 + i % 3 for i in range(20)]]
    assert word(base, more) == "worse"
    assert word(more, base) == "better"
    assert word(base, more, Metric("rate", "higher", 0.05)) == "better"


def test_certain_but_small_is_no_finding() -> None:
    """If this fails, 3 % on a quiet machine stop a merge."""
    base, new = [[100.0 + i % 2 for i in range(40)]], [[103.0 + i % 2 for i in range(40)]]
    assert word(base, new) == word(5 * base, 5 * new) == "same"


def test_few_runs_need_a_larger_change() -> None:
    """If this fails, a single run is believed as much as five."""
    base, new = [[100.0 + i % 2 for i in range(40)]], [[115.0 + i % 2 for i in range(40)]]
    assert word(base, new) == "same"
    assert word(5 * base, 5 * new) == "worse"


def test_a_change_below_the_floor_is_no_finding() -> None:
    """If this fails, 0.4 ms more stop a merge."""
    tiny = Metric("latency", "lower", 0.10, floor=1.0)
    assert word([[0.5, 0.51] * 20], [[0.9, 0.91] * 20], tiny) == "same"


def test_runs_of_one_side_that_differ_raise_the_bar() -> None:
    """If this fails, what differs from run to run of the same code is taken for the code's doing."""
    base = [[level] * 10 for level in (80.0, 120.0, 90.0, 130.0, 85.0)]
    assert noise_of_runs([run[0] for run in base]) > 0.25
    assert word(base, [[1.3 * level for level in run] for run in base]) == "same"
    steady = [[level] * 10 for level in (99.0, 101.0, 100.0, 102.0, 98.0)]
    assert word(steady, [[1.3 * level for level in run] for run in steady]) == "worse"
    assert noise_of_runs([100.0, 150.0]) == pytest.approx(0.5)
    assert noise_within([100.0] * 5 + [150.0] * 5) == pytest.approx(0.5)


def test_a_disturbed_run_does_not_hide_a_slower_one() -> None:
    """If this fails, one noisy minute among ten runs hides a slowdown of 20 %."""
    rng = np.random.default_rng(17)
    p50 = Metric("p50", "lower", 0.10, quantile=0.25)
    runs = [[remembering(rng, 20, 0.3) for _ in range(5)] for _ in range(2)]
    runs[0][2][10:] = [1.35 * value for value in runs[0][2][10:]]
    assert word(runs[0], [[1.2 * value for value in run] for run in runs[1]], p50) == "worse"


def test_too_few_samples_say_so() -> None:
    """If this fails, three samples decide, or an empty list passes."""
    assert word([[1.0, 2.0, 3.0]], [[5.0] * 20]) == "unknown"
    assert word([], [[5.0] * 20]) == "unknown"
    assert changes([LATENCY], [{}], [{}]) == []


def test_from_nothing_to_something_is_worse() -> None:
    """If this fails, a lag that appears where there was none divides by zero or passes."""
    lag = next(metric for metric in METRICS if metric.name == "lag_max")
    assert word([[0.0] * 20], [[50.0 + i for i in range(20)]], lag) == "worse"
    assert word([[0.0] * 20], [[0.0] * 20], lag) == "same"


def test_what_the_machine_did_is_not_the_codes_doing() -> None:
    """If this fails, a neighbour who took the CPU for a minute is a regression."""
    latency = Metric("latency", "lower", 0.10, floor=1.0, holds_slip=True)
    base = [{"latency": [40.0 + i % 3 for i in range(30)], "slip_ms_p99": [4.0] * 30}]
    disturbed = [{"latency": [52.0 + i % 3 for i in range(30)], "slip_ms_p99": [18.0] * 30}]
    slower = [{"latency": [52.0 + i % 3 for i in range(30)], "slip_ms_p99": [4.0] * 30}]
    assert changes([latency], base, disturbed)[0].word == "same"
    assert changes([latency], base, slower)[0].word == "worse"
    assert changes([latency], disturbed, base)[0].word == "same", "nor is it an improvement"
