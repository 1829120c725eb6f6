"""Rates, lag and stability out of samples: what is measured is right, what is not is None."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.figures import pace_metrics
from bench.sampler import Sample

relaxed = settings(deadline=None)  # a busy machine is no finding

RATE = 1000
FLOOR_MS = 10.0
FIGURES = {
    "producer_rate_per_s",
    "producer_rate_share",
    "output_rate_per_s",
    "output_rate_peak_per_s",
    "rate_match",
    "lag_max",
    "lag_slope_per_s",
    "lag_slope_share",
    "latency_p99_ratio",
}


def sample(second: int, phase: str, *, sent: int, out: int, p99_ms: float | None = 5.0) -> Sample:
    return Sample(
        t_s=float(second),
        out_t_s=second + 0.02,
        phase=phase,
        prod_max_seq=sent,
        prod_sent=sent,
        prod_acked=sent,
        prod_rate=float(RATE),
        out_count=out,
        out_max_seq=out,
        out_rate=float(RATE),
        lag=max(0, sent - out),
        p95_ms=p99_ms,
        p99_ms=p99_ms,
        slip_p99_ms=1.0,
    )


def series(
    warmup: int, measure: int, *, drain: int = 0, out=lambda s: s * RATE, p99=lambda _s: 5.0, rate=RATE
):
    """One sample a second; `out` and `p99` are functions of the second."""
    phases = ["warm-up"] * warmup + ["measure"] * measure + ["drain"] * drain
    sent_s = warmup + measure
    return [
        sample(s, phase, sent=min(s, sent_s) * rate, out=out(s), p99_ms=p99(s))
        for s, phase in enumerate(phases, start=1)
    ]


def test_a_steady_run_has_full_rate_and_flat_lag() -> None:
    """If this fails, a run without a fault is not green."""
    figures = pace_metrics(series(2, 8, drain=2, out=lambda s: s * RATE - 50), RATE, FLOOR_MS)
    assert set(figures) >= FIGURES
    assert figures["producer_rate_per_s"] == pytest.approx(RATE)
    assert figures["producer_rate_share"] == pytest.approx(1)
    assert figures["output_rate_per_s"] == pytest.approx(RATE)
    assert figures["rate_match"] == pytest.approx(1)
    assert figures["lag_max"] == 50
    assert figures["lag_slope_per_s"] == figures["lag_slope_share"] == 0
    assert figures["latency_p99_ratio"] == 1


def test_a_growing_lag_shows_as_slope_share_and_maximum() -> None:
    """If this fails, a pipeline that falls behind for ever passes as bounded."""
    figures = pace_metrics(series(2, 10, out=lambda s: s * RATE * 8 // 10), RATE, FLOOR_MS)
    assert figures["lag_slope_share"] == pytest.approx(0.2)
    assert figures["lag_slope_per_s"] == pytest.approx(200)
    assert figures["lag_max"] == 12 * RATE * 2 // 10
    assert figures["rate_match"] == pytest.approx(0.8)


def test_a_slow_producer_is_told_from_a_slow_pipeline() -> None:
    """If this fails, a starved producer looks like a slow engine."""
    figures = pace_metrics(series(2, 8, rate=900, out=lambda s: s * 900), RATE, FLOOR_MS)
    assert figures["producer_rate_share"] == pytest.approx(0.9)
    assert figures["rate_match"] == pytest.approx(1)


def test_a_stall_counts_with_the_time_since_something_came_out() -> None:
    """If this fails, the seconds of a stall have no sample and the run looks stable."""
    stalled = series(2, 10, out=lambda s: min(s, 6) * RATE, p99=lambda s: 5.0 if s <= 6 else None)
    figures = pace_metrics(stalled, RATE, FLOOR_MS)
    # seconds 3..7 have 5 5 5 5 and one second of silence, seconds 8..12 have 2 to 6 seconds of it
    assert figures["latency_p99_ratio"] == pytest.approx(4000 / FLOOR_MS)
    assert figures["lag_max"] == 6 * RATE


def test_a_silence_that_began_in_the_warm_up_counts_from_there() -> None:
    """If this fails, the first silent second of a run counts as a latency of nothing."""
    silent = series(3, 4, out=lambda _s: RATE, p99=lambda s: 5.0 if s == 1 else None)
    # silent since second 1: 3, 4, 5, 6 seconds
    assert pace_metrics(silent, RATE, FLOOR_MS)["latency_p99_ratio"] == pytest.approx(5.5 / 3.5)
    never = series(0, 4, out=lambda _s: 0, p99=lambda _s: None)
    assert pace_metrics(never, RATE, FLOOR_MS)["latency_p99_ratio"] == pytest.approx(3.52 / 1.52)


def test_latency_that_doubles_in_the_second_half_shows() -> None:
    """If this fails, a p99 that creeps up passes as stable."""
    creeping = series(2, 8, p99=lambda s: 100.0 if s <= 6 else 200.0)
    assert pace_metrics(creeping, RATE, FLOOR_MS)["latency_p99_ratio"] == pytest.approx(2)
    below_floor = series(2, 8, p99=lambda s: 1.0 if s <= 6 else 8.0)
    assert pace_metrics(below_floor, RATE, FLOOR_MS)["latency_p99_ratio"] == 1


def test_rates_start_at_the_end_of_the_warm_up() -> None:
    """If this fails, the warm-up's slow start counts, or the first measured second does not."""
    cold = series(3, 5, out=lambda s: max(0, s - 3) * RATE)
    figures = pace_metrics(cold, RATE, FLOOR_MS)
    assert figures["output_rate_per_s"] == pytest.approx(RATE)
    burst = series(3, 5, out=lambda s: 0 if s <= 3 else 10 * RATE)  # all in the first measured second
    assert pace_metrics(burst, RATE, FLOOR_MS)["output_rate_per_s"] == pytest.approx(2 * RATE)


def test_without_warm_up_rates_start_at_the_first_sample() -> None:
    """If this fails, `--warmup 0` has no rate, or a wrong one."""
    figures = pace_metrics(series(0, 4), RATE, FLOOR_MS)
    assert figures["producer_rate_per_s"] == pytest.approx(RATE)
    assert figures["output_rate_per_s"] == pytest.approx(RATE)
    assert None not in {figures[name] for name in FIGURES}


@pytest.mark.parametrize(
    ("warmup", "measure", "missing"),
    [
        (0, 0, FIGURES),
        (5, 0, FIGURES),
        (0, 1, FIGURES - {"lag_max"}),
        (1, 1, {"lag_slope_per_s", "lag_slope_share", "latency_p99_ratio"}),
        (1, 2, {"lag_slope_per_s", "lag_slope_share", "latency_p99_ratio"}),
        (1, 3, {"latency_p99_ratio"}),
        (1, 4, set()),
    ],
)
def test_too_few_samples_are_no_figure(warmup: int, measure: int, missing: set[str]) -> None:
    """If this fails, a run that was cut short passes a gate on a figure made of nothing."""
    figures = pace_metrics(series(warmup, measure), RATE, FLOOR_MS)
    absent = {name for name in FIGURES if figures[name] is None}
    assert absent == missing


def test_nothing_sent_is_no_match() -> None:
    """If this fails, a producer that never spoke makes 0 ÷ 0 a pass or a crash."""
    figures = pace_metrics(series(2, 6, rate=0, out=lambda _s: 0), RATE, FLOOR_MS)
    assert figures["rate_match"] is None
    assert figures["producer_rate_share"] == 0


def test_drain_and_warm_up_have_no_say() -> None:
    """If this fails, the lag of the warm-up or the silence of the drain spoils the measurement."""
    plain = series(2, 8)
    noisy = list(plain)
    noisy[0] = sample(1, "warm-up", sent=10**6, out=0, p99_ms=9e5)
    noisy.append(sample(11, "drain", sent=10**9, out=10**9, p99_ms=None))
    assert pace_metrics(noisy, RATE, FLOOR_MS) == pace_metrics(plain, RATE, FLOOR_MS)


@relaxed
@given(
    st.integers(0, 3),
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 2000), st.none() | st.floats(0, 1e6)), max_size=12
    ),
)
def test_figures_are_finite_or_absent(warmup: int, seconds) -> None:
    """If this fails, some run makes a NaN, an infinity or a traceback of its figures."""
    sent = out = 0
    samples = []
    for s, (more_sent, more_out, p99_ms) in enumerate(seconds, start=1):
        sent, out = sent + more_sent, out + more_out
        samples.append(sample(s, "warm-up" if s <= warmup else "measure", sent=sent, out=out, p99_ms=p99_ms))
    figures = pace_metrics(samples, RATE, FLOOR_MS)
    assert set(figures) >= FIGURES
    assert all(value is None or abs(value) < float("inf") for value in figures.values())
