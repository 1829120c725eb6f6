"""Profiles: the same cases at three sizes, with bounds that fit the size."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerance:
    """How strict the gates are; a run of a few seconds has few samples and a cold start in them."""

    slip_ms_p99: float
    #: The same for the engine cases, whose latency counts from a window's end: 1 % of the window at
    #: standard size. When a window closes, the engine takes every core that it shares with the producer.
    engine_slip_ms_p99: float
    lag_slope_share: float
    lag_bound_s: float
    #: The same for the engine cases, on top of the window: micro-batches come late in the best of cases.
    engine_lag_bound_s: float
    p99_ratio: float
    p99_floor_ms: float
    rate_share: float
    #: A producer that is behind by the allowed slip at the last sample has sent that much less.
    producer_rate_share: float
    clock_offset_ms: float


@dataclass(frozen=True)
class Profile:
    name: str
    warmup_s: int
    measure_s: int
    rates_per_s: dict[str, int]
    tolerance: Tolerance
    help: str
    #: For the cases with an engine: the window, and times that hold several whole ones.
    window_ms: int
    windowed_warmup_s: int
    windowed_measure_s: int
    #: How long an engine on a JVM runs on made-up events before it is called ready.
    rehearse_s: int = 0


_WIDE = Tolerance(
    slip_ms_p99=400,
    engine_slip_ms_p99=400,
    lag_slope_share=0.3,
    lag_bound_s=3,
    engine_lag_bound_s=15,
    p99_ratio=10,
    p99_floor_ms=50,
    rate_share=0.9,
    producer_rate_share=0.92,
    clock_offset_ms=50,
)
_STRICT = Tolerance(
    slip_ms_p99=20,
    engine_slip_ms_p99=100,
    lag_slope_share=0.01,
    lag_bound_s=2,
    engine_lag_bound_s=3,
    p99_ratio=3,
    p99_floor_ms=10,
    rate_share=0.98,
    producer_rate_share=0.99,
    clock_offset_ms=5,
)
_MIDDLE = Tolerance(
    slip_ms_p99=50,
    engine_slip_ms_p99=250,
    lag_slope_share=0.05,
    lag_bound_s=2,
    engine_lag_bound_s=10,
    p99_ratio=4,
    p99_floor_ms=20,
    rate_share=0.95,
    producer_rate_share=0.98,
    clock_offset_ms=10,
)

_ENGINE_CASES = ("C", "D", "E", "F")


def _rates(events: int, rows: int, engine: int) -> dict[str, int]:
    return {"A": events, "B": rows, **dict.fromkeys(_ENGINE_CASES, engine)}


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            name="smoke",
            warmup_s=1,
            measure_s=5,
            rates_per_s=_rates(2_000, 500, 1_000),
            tolerance=_WIDE,
            help="seconds, for CI: the same code, wide bounds",
            window_ms=1_000,
            windowed_warmup_s=3,
            windowed_measure_s=6,
        ),
        Profile(
            name="short",
            warmup_s=3,
            measure_s=15,
            rates_per_s=_rates(20_000, 2_000, 10_000),
            tolerance=_MIDDLE,
            help="half a minute a case: a first look",
            window_ms=5_000,
            windowed_warmup_s=10,
            windowed_measure_s=30,
        ),
        Profile(
            name="standard",
            warmup_s=20,
            measure_s=120,
            rates_per_s=_rates(50_000, 2_000, 10_000),
            tolerance=_STRICT,
            help="the roadmap's 20 s + 120 s, 10 s windows",
            window_ms=10_000,
            windowed_warmup_s=20,
            windowed_measure_s=120,
            rehearse_s=40,
        ),
    )
}
PROFILES["soak"] = replace(
    PROFILES["standard"], name="soak", help="the transport suite's long run only, for --duration"
)
