"""The roadmap's cases as values: load, transport and gates out of the user's settings."""

from __future__ import annotations

from bench.case import Case, Load, Transport
from bench.gates import Gate
from bench.profile import Tolerance
from bench.settings import Settings

DRAIN_S = 60.0
LATE_AFTER_S = 10.0


def case_a(settings: Settings) -> Case:
    """Events transport baseline: producer → events.<p> → observer."""
    return _case("A", None, settings, _event_conservation())


def case_b(settings: Settings) -> Case:
    """Sink baseline: mock results → results.mock.<p> → writer → TiDB."""
    return _case("B", "mock", settings, _row_conservation(settings.profile.tolerance))


def _case(letter: str, variant: str | None, settings: Settings, conservation: list[Gate]) -> Case:
    rate = settings.rate_of(letter)
    load = Load(
        rate_per_s=rate,
        warmup_s=settings.warmup_s,
        measure_s=settings.measure_s,
        num_keys=settings.num_keys,
        payload_bytes=settings.payload_bytes,
        partitions=settings.partitions,
        seed=settings.seed,
    )
    # Case B's rows are what JetStream must not double for the table to be exact: always with ids.
    message_ids = settings.message_ids or letter == "B"
    tolerance = settings.profile.tolerance
    return Case(
        letter=letter,
        variant=variant,
        load=load,
        transport=Transport(settings.storage, settings.replicas, message_ids),
        gates=(*_validity(tolerance), *conservation, *_pace(tolerance, rate)),
        drain_s=DRAIN_S,
        late_after_s=LATE_AFTER_S,
        p99_floor_ms=tolerance.p99_floor_ms,
    )


def _validity(tolerance: Tolerance) -> list[Gate]:
    """What must hold for the run to be a measurement at all."""

    def need(metric: str, comparison: str, bound: float, why: str) -> Gate:
        return Gate(metric, comparison, bound, why, kind="validity")  # type: ignore[arg-type]

    return [
        need("producer_rate_share", ">=", 0.99, "the producer kept its rate"),
        need("slip_ms_p99", "<=", tolerance.slip_ms_p99, "the producer kept its schedule"),
        need("publishes_refused", "==", 0, "JetStream took every message"),
        need("publishes_unanswered", "==", 0, "every publish was answered"),
        need("driver_errors", "==", 0, "no driver thread died"),
        need("wall_drift_ms_abs", "<=", 50, "the wall clock did not jump"),
        need("latency_samples", ">=", 1, "something was measured"),
    ]


def _event_conservation() -> list[Gate]:
    return [
        Gate("lost", "==", 0, "every acknowledged event was seen"),
        Gate("duplicates", "==", 0, "no event was seen twice"),
        Gate("unexpected", "==", 0, "nothing was seen that was not sent"),
        Gate("late", "==", 0, "no event came after its deadline"),
    ]


def _row_conservation(tolerance: Tolerance) -> list[Gate]:
    return [
        Gate(
            "clock_offset_ms_abs",
            "<=",
            tolerance.clock_offset_ms,
            "TiDB's clock is ours, or latencies mean nothing",
            kind="validity",
        ),
        Gate("lost", "==", 0, "every acknowledged row is in the table"),
        Gate("duplicates", "==", 0, "no row came twice, also where the upsert would hide it"),
        Gate("unexpected", "==", 0, "the table holds nothing that was not sent"),
        Gate("wrong", "==", 0, "every row has the values that were sent"),
        Gate("late", "==", 0, "no row came after its deadline"),
    ]


def _pace(tolerance: Tolerance, rate: int) -> list[Gate]:
    return [
        Gate("rate_match", ">=", tolerance.rate_share, "output keeps up with input"),
        Gate("lag_slope_share", "<=", tolerance.lag_slope_share, "lag does not grow (slope ÷ rate)"),
        Gate("lag_max", "<=", tolerance.lag_bound_s * rate, "lag is bounded"),
        Gate("latency_p99_ratio", "<=", tolerance.p99_ratio, "p99 is stable (second half ÷ first half)"),
    ]
