"""The roadmap's cases as values: load, transport and gates out of the user's settings."""

from __future__ import annotations

from dataclasses import replace

from bench.case import Case, Load, Transport, Windows
from bench.gates import Gate
from bench.profile import Tolerance
from bench.settings import Settings

DRAIN_S = 60.0
LATE_AFTER_S = 10.0
#: What a stream in memory may hold: 20 s at 100,000 events/s. Without a bound, case A at 50,000/s fills 8 GB,
#: and the server's pauses to look after it are then measured instead of its way with a message. A pipeline
#: so far behind that the bound reaches its events loses them, and the ledger counts each.
MEMORY_MAX_BYTES = 1 << 30
#: A window's results come with a micro-batch: changes within one are the trigger's grain, not a trend.
WINDOW_P99_FLOOR_MS = 500.0


def case_a(settings: Settings) -> Case:
    """Events transport baseline: producer → events.<p> → observer."""
    return _steady("A", None, settings, _event_conservation())


def case_b(settings: Settings) -> Case:
    """Sink baseline: mock results → results.mock.<p> → writer → TiDB."""
    return _steady("B", "mock", settings, [*_database_clock(settings), *_row_conservation()])


def case_c(settings: Settings, variant: str) -> Case:
    """Engine benchmark: producer → events.<p> → engine → results.<variant>.<p> → observer."""
    return _windowed("C", variant, settings, _row_conservation())


def case_d(settings: Settings, variant: str) -> Case:
    """End to end: … → engine → results.<variant>.<p> → writer → TiDB."""
    return _windowed("D", variant, settings, [*_database_clock(settings), *_row_conservation()])


def case_e(settings: Settings, variant: str) -> Case:
    """End to end by Bento: … → engine → results.<variant>.<p> → Bento → TiDB."""
    sink_ran = Gate("sink_down", "==", 0, "Bento ran through", kind="validity")
    return _windowed("E", variant, settings, [sink_ran, *_database_clock(settings), *_row_conservation()])


def case_f(settings: Settings, variant: str) -> Case:
    """End to end by the engine's own sink: … → engine → TiDB."""
    return _windowed("F", variant, settings, [*_database_clock(settings), *_row_conservation()])


def resized(case: Case, rate_per_s: int, warmup_s: int | None = None, measure_s: int | None = None) -> Case:
    """The same case at another rate or length; its bound on the lag is so many seconds of the rate."""
    load = case.load
    share = rate_per_s / load.rate_per_s
    return replace(
        case,
        load=replace(
            load,
            rate_per_s=rate_per_s,
            warmup_s=load.warmup_s if warmup_s is None else warmup_s,
            measure_s=load.measure_s if measure_s is None else measure_s,
        ),
        gates=tuple(
            replace(gate, bound=gate.bound * share) if gate.metric == "lag_max" else gate
            for gate in case.gates
        ),
    )


def _steady(letter: str, variant: str | None, settings: Settings, conservation: list[Gate]) -> Case:
    """A case whose output comes as evenly as its input."""
    load = _load(letter, settings, settings.warmup_s, settings.measure_s)
    tolerance = settings.profile.tolerance
    # Case B's rows are what JetStream must not double for the table to be exact: always with ids.
    message_ids = settings.message_ids or letter == "B"
    return Case(
        letter=letter,
        variant=variant,
        load=load,
        transport=_transport(settings, message_ids),
        gates=(
            *_validity(tolerance.slip_ms_p99, tolerance.producer_rate_share),
            *conservation,
            *_pace(tolerance, load.rate_per_s, tolerance.lag_bound_s),
        ),
        drain_s=DRAIN_S,
        late_after_s=LATE_AFTER_S,
        p99_floor_ms=tolerance.p99_floor_ms,
    )


def _transport(settings: Settings, message_ids: bool) -> Transport:
    bound = MEMORY_MAX_BYTES if settings.storage == "memory" else -1
    return Transport(settings.storage, settings.replicas, message_ids, max_bytes=bound)


def _windowed(letter: str, variant: str, settings: Settings, conservation: list[Gate]) -> Case:
    """A case whose output comes window by window; its lag is a sawtooth of one window."""
    load = _load(letter, settings, settings.windowed_warmup_s, settings.windowed_measure_s)
    tolerance = settings.profile.tolerance
    engine_ran = Gate("engine_down", "==", 0, "the engine ran through", kind="validity")
    return Case(
        letter=letter,
        variant=variant,
        load=load,
        transport=_transport(settings, settings.message_ids),
        gates=(
            *_validity(tolerance.engine_slip_ms_p99, tolerance.producer_rate_share),
            engine_ran,
            *conservation,
            *_pace(tolerance, load.rate_per_s, settings.window_ms / 1000 + tolerance.engine_lag_bound_s),
        ),
        drain_s=DRAIN_S,
        late_after_s=LATE_AFTER_S,
        p99_floor_ms=max(tolerance.p99_floor_ms, WINDOW_P99_FLOOR_MS),
        windows=Windows(settings.window_ms, settings.clock_of(variant)),
    )


def _load(letter: str, settings: Settings, warmup_s: int, measure_s: int) -> Load:
    return Load(
        rate_per_s=settings.rate_of(letter),
        warmup_s=warmup_s,
        measure_s=measure_s,
        num_keys=settings.num_keys,
        payload_bytes=settings.payload_bytes,
        partitions=settings.partitions,
        seed=settings.seed,
    )


def _validity(slip_ms_p99: float, rate_share: float) -> list[Gate]:
    """What must hold for the run to be a measurement at all."""

    def need(metric: str, comparison: str, bound: float, why: str) -> Gate:
        return Gate(metric, comparison, bound, why, kind="validity")  # type: ignore[arg-type]

    return [
        need("producer_rate_share", ">=", rate_share, "the producer kept its rate"),
        need("slip_ms_p99", "<=", slip_ms_p99, "the producer kept its schedule"),
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


def _database_clock(settings: Settings) -> list[Gate]:
    why = "TiDB's clock is ours, or latencies mean nothing"
    bound = settings.profile.tolerance.clock_offset_ms
    return [Gate("clock_offset_ms_abs", "<=", bound, why, kind="validity")]


def _row_conservation() -> list[Gate]:
    return [
        Gate("lost", "==", 0, "every acknowledged event is in the output"),
        Gate("duplicates", "==", 0, "nothing came twice, also where the upsert would hide it"),
        Gate("unexpected", "==", 0, "the output holds nothing that was not sent"),
        Gate("wrong", "==", 0, "every row has the values it must have"),
        Gate("late", "==", 0, "no row came after its deadline"),
    ]


def _pace(tolerance: Tolerance, rate: int, lag_bound_s: float) -> list[Gate]:
    return [
        Gate("rate_match", ">=", tolerance.rate_share, "output keeps up with input"),
        Gate("lag_slope_share", "<=", tolerance.lag_slope_share, "lag does not grow (slope ÷ rate)"),
        Gate("lag_max", "<=", lag_bound_s * rate, "lag is bounded"),
        Gate("latency_p99_ratio", "<=", tolerance.p99_ratio, "p99 is stable (second half ÷ first half)"),
    ]
