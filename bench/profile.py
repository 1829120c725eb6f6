"""Profiles: the same cases at three sizes, with bounds that fit the size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """How strict the gates are; a run of a few seconds has few samples and a cold start in them."""

    slip_ms_p99: float
    lag_slope_share: float
    lag_bound_s: float
    p99_ratio: float
    p99_floor_ms: float
    rate_share: float
    clock_offset_ms: float


@dataclass(frozen=True)
class Profile:
    name: str
    warmup_s: int
    measure_s: int
    rates_per_s: dict[str, int]
    tolerance: Tolerance
    help: str


_WIDE = Tolerance(
    slip_ms_p99=400,
    lag_slope_share=0.3,
    lag_bound_s=3,
    p99_ratio=10,
    p99_floor_ms=50,
    rate_share=0.9,
    clock_offset_ms=50,
)
_STRICT = Tolerance(
    slip_ms_p99=20,
    lag_slope_share=0.01,
    lag_bound_s=2,
    p99_ratio=3,
    p99_floor_ms=10,
    rate_share=0.98,
    clock_offset_ms=5,
)
_MIDDLE = Tolerance(
    slip_ms_p99=50,
    lag_slope_share=0.05,
    lag_bound_s=2,
    p99_ratio=4,
    p99_floor_ms=20,
    rate_share=0.95,
    clock_offset_ms=10,
)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("smoke", 1, 5, {"A": 2_000, "B": 500}, _WIDE, "seconds, for CI: the same code, wide bounds"),
        Profile("short", 3, 15, {"A": 20_000, "B": 2_000}, _MIDDLE, "half a minute a case: a first look"),
        Profile("standard", 20, 120, {"A": 50_000, "B": 2_000}, _STRICT, "the roadmap's 20 s + 120 s"),
    )
}
