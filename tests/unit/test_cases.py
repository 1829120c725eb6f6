"""Cases as values: every gate of the design is there, and its bound fits the load."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from bench.case import Case
from bench.cases import case_a, case_b, case_c, case_d, case_f
from bench.profile import PROFILES
from bench.settings import RawOptions, Settings, check_options

#: The harness measured at all: else INVALID.
VALIDITY = {
    "producer_rate_share",
    "slip_ms_p99",
    "publishes_refused",
    "publishes_unanswered",
    "driver_errors",
    "wall_drift_ms_abs",
    "latency_samples",
}
PACE = {"rate_match", "lag_slope_share", "lag_max", "latency_p99_ratio"}
EVENTS = {"lost", "duplicates", "unexpected", "late"}
ROWS = EVENTS | {"wrong"}


def settings_of(profile: str, **typed: str) -> Settings:
    return check_options(RawOptions(profile=profile, **typed))


def kinds(case: Case) -> dict[str, set[str]]:
    assert len({gate.metric for gate in case.gates}) == len(case.gates)
    return {kind: {gate.metric for gate in case.gates if gate.kind == kind} for kind in ("validity", "gate")}


def bound(case: Case, metric: str) -> float:
    (gate,) = (gate for gate in case.gates if gate.metric == metric)
    return gate.bound


@pytest.mark.parametrize("profile", PROFILES)
def test_case_a_has_every_gate_of_the_design(profile: str) -> None:
    """If this fails, case A can pass without something that it promises."""
    assert kinds(case_a(settings_of(profile))) == {"validity": VALIDITY, "gate": EVENTS | PACE}


@pytest.mark.parametrize("profile", PROFILES)
def test_case_b_has_every_gate_of_the_design(profile: str) -> None:
    """If this fails, case B can pass without something that it promises."""
    assert kinds(case_b(settings_of(profile))) == {
        "validity": VALIDITY | {"clock_offset_ms_abs"},
        "gate": ROWS | PACE,
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("make", [case_c, case_d, case_f])
def test_an_engine_case_has_every_gate_of_the_design(make, profile: str) -> None:
    """If this fails, an engine that died, lost or doubled something can pass."""
    found = kinds(make(settings_of(profile), "spark"))
    assert found["validity"] > VALIDITY
    assert "engine_down" in found["validity"]
    assert ("clock_offset_ms_abs" in found["validity"]) == (make is not case_c)
    assert found["gate"] >= ROWS | PACE


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("make", [case_a, case_b])
def test_conservation_is_exact_at_every_size(make, profile: str) -> None:
    """If this fails, a profile lets a lost or doubled event through."""
    for gate in make(settings_of(profile)).gates:
        if gate.metric in ROWS | {"publishes_refused", "publishes_unanswered", "driver_errors"}:
            assert (gate.comparison, gate.bound) == ("==", 0)


@pytest.mark.parametrize("make", [case_a, case_b])
def test_the_bound_on_lag_is_a_time_whatever_the_rate(make) -> None:
    """If this fails, a fast run has less time to catch up than a slow one."""
    slow, fast = (make(settings_of("standard", rate=rate)) for rate in ("1000", "30000"))
    assert bound(fast, "lag_max") == 30 * bound(slow, "lag_max") > 0
    for metric in PACE - {"lag_max"}:
        assert bound(fast, metric) == bound(slow, metric)


def test_a_bigger_profile_is_stricter() -> None:
    """If this fails, the nightly run asks less than the smoke test."""
    smoke, short, standard = (
        case_b(settings_of(name, rate="1000")) for name in ("smoke", "short", "standard")
    )
    at_most = {
        gate.metric for gate in smoke.gates if gate.comparison == "<=" and gate.metric != "wall_drift_ms_abs"
    }
    assert at_most == {
        "slip_ms_p99",
        "clock_offset_ms_abs",
        "lag_slope_share",
        "lag_max",
        "latency_p99_ratio",
    }
    for metric in at_most:
        assert bound(smoke, metric) >= bound(short, metric) >= bound(standard, metric) > 0
        assert bound(smoke, metric) > bound(standard, metric)
    assert bound(smoke, "rate_match") < bound(short, "rate_match") < bound(standard, "rate_match") < 1


def test_a_case_is_the_load_that_was_asked_for() -> None:
    """If this fails, an option is checked and then not used."""
    typed = {
        "rate": "123",
        "warmup": "2",
        "measure": "7",
        "num_keys": "11",
        "payload_bytes": "300",
        "partitions": "3",
        "seed": "99",
        "storage": "file",
        "replicas": "3",
    }
    case = case_a(settings_of("smoke", **typed))
    load, transport = case.load, case.transport
    assert (load.rate_per_s, load.warmup_s, load.measure_s, load.total) == (123, 2, 7, 123 * 9)
    assert (load.num_keys, load.payload_bytes, load.partitions, load.seed) == (11, 300, 3, 99)
    assert (transport.storage, transport.replicas) == ("file", 3)


def test_case_b_always_has_message_ids() -> None:
    """If this fails, a reconnect of the producer doubles rows of case B."""
    settings = settings_of("smoke")
    assert not case_a(settings).transport.message_ids
    assert case_b(settings).transport.message_ids
    assert case_a(replace(settings, message_ids=True)).transport.message_ids


def test_names_tell_cases_and_engines_apart() -> None:
    """If this fails, two engines' runs get one name."""
    settings = settings_of("smoke")
    cases = [
        case_a(settings),
        case_b(settings),
        case_c(settings, "spark"),
        case_d(settings, "arroyo"),
        case_f(settings, "rw"),
    ]
    assert [case.name for case in cases] == ["A", "B-mock", "C-spark", "D-arroyo", "F-rw"]


def test_a_case_is_a_value() -> None:
    """If this fails, something can change a case while it runs, or cases cannot be compared."""
    settings = settings_of("smoke")
    case = case_b(settings)
    assert case == case_b(settings)
    assert len({case, case_b(settings), case_a(settings)}) == 2
    for value, name in ((case, "gates"), (case.load, "rate_per_s"), (case.transport, "storage")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)
