"""The run's figures out of its samples: rates, lag, stability. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from bench import stats
from bench.sampler import Sample


def pace_metrics(
    samples: Sequence[Sample], rate_per_s: int, p99_floor_ms: float
) -> dict[str, float | int | None]:
    """What the gates on pace refer to; None where there was too little to say."""
    measured = [sample for sample in samples if sample.phase == "measure"]
    span = _with_baseline(samples, measured)
    t = [sample.t_s for sample in span]
    sent_rate = _or_none(lambda: stats.mean_rate(t, [sample.prod_sent for sample in span]))
    out_t = [sample.out_t_s for sample in span]
    out_rate = _or_none(lambda: stats.mean_rate(out_t, [sample.out_count for sample in span]))
    slope = _or_none(
        lambda: stats.theil_sen_slope([s.out_t_s for s in measured], [float(s.lag) for s in measured])
    )
    p99s = _p99_by_second(samples)
    return {
        "producer_rate_per_s": sent_rate,
        "producer_rate_share": None if sent_rate is None else sent_rate / rate_per_s,
        "output_rate_per_s": out_rate,
        "output_rate_peak_per_s": _or_none(
            lambda: stats.peak_rate(out_t, [sample.out_count for sample in span])
        ),
        "rate_match": None if not sent_rate or out_rate is None else out_rate / sent_rate,
        "output_silence_s_max": _longest_silence_s(span),
        "lag_max": max((sample.lag for sample in measured), default=None),
        "lag_slope_per_s": slope,
        "lag_slope_share": None if slope is None else slope / rate_per_s,
        "latency_p99_ratio": _or_none(lambda: stats.halves_ratio(p99s, p99_floor_ms)),
    }


def _p99_by_second(samples: Sequence[Sample]) -> list[float]:
    """p99 of each measured second; one in which nothing came out counts with the time since something did.

    Left out, a stall would make a run look stable because its worst seconds have no sample.
    """
    p99s: list[float] = []
    silent_since_s = 0.0
    for sample in samples:
        if sample.p99_ms is not None:
            silent_since_s = sample.out_t_s
        if sample.phase == "measure":
            silent_ms = (sample.out_t_s - silent_since_s) * 1000
            p99s.append(silent_ms if sample.p99_ms is None else sample.p99_ms)
    return p99s


def _longest_silence_s(samples: Sequence[Sample]) -> float | None:
    """The longest time in which nothing came out: what a user sees of an outage."""
    if not samples:
        return None
    longest, since, count = 0.0, samples[0].out_t_s, samples[0].out_count
    for sample in samples:
        if sample.out_count != count:
            since, count = sample.out_t_s, sample.out_count
        longest = max(longest, sample.out_t_s - since)
    return longest


def _with_baseline(samples: Sequence[Sample], measured: list[Sample]) -> list[Sample]:
    """The measure samples and the one before them: a rate needs the count at the window's start."""
    before = [sample for sample in samples if sample.phase == "warm-up"]
    return [*before[-1:], *measured]


def _or_none(figure: Callable[[], float]) -> float | None:
    """Too few samples is no figure; the gate that needs it then says so."""
    with suppress(ValueError):
        return figure()
    return None
