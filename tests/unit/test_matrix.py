"""The matrix as a plan: how far it is, how long it will take, and what it did not reach."""

from __future__ import annotations

import pytest

from bench import matrix as matrix_module
from bench.matrix import MatrixPlan, planned
from bench.settings import RawOptions, UsageError, check_options, check_rates

SETTINGS = check_options(RawOptions(profile="standard"))


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(matrix_module, "time", fake)
    return fake


def plan_of(*cases: str) -> MatrixPlan:
    return MatrixPlan([planned(f"test_{case}", case, "spark", SETTINGS) for case in cases])


def test_the_bar_fills_and_the_time_left_falls(clock: Clock) -> None:
    """If this fails, somebody waits for a night without knowing how long."""
    plan = plan_of("A", "B", "C")
    assert plan.told() == "1/3 ░░░░░░░░░░░░ 8 min left"
    plan.start("test_A")
    clock.now += 144
    plan.finish("test_A")
    plan.start("test_B")
    assert plan.told() == "2/3 ████░░░░░░░░ 5 min left"
    clock.now += 144
    plan.finish("test_B")
    plan.start("test_C")
    clock.now += 1000
    assert plan.told() == "3/3 ████████████ 0 s left"


def test_it_learns_from_what_runs_really_take(clock: Clock) -> None:
    """If this fails, a slow machine is promised to be done soon, again and again."""
    plan = plan_of("C", "D", "F")
    before = plan.told()
    plan.start("test_C")
    clock.now += 600
    plan.finish("test_C")
    assert before.endswith("9 min left")
    assert plan.told().endswith("20 min left")


def test_an_engine_that_is_not_at_hand_takes_no_time(clock: Clock) -> None:
    """If this fails, half the engines missing means twice the time promised, and then half of it."""
    runs = [("C", "spark"), ("C", "arroyo"), ("D", "spark"), ("D", "arroyo"), ("F", "spark")]
    plan = MatrixPlan([planned(f"{case}-{engine}", case, engine, SETTINGS) for case, engine in runs])
    plan.start("C-spark")
    clock.now += 240
    plan.finish("C-spark")
    assert plan.told().endswith("16 min left")
    plan.start("C-arroyo")
    plan.skip("C-arroyo")
    plan.finish("C-arroyo")
    plan.start("D-spark")
    assert plan.told() == "3/5 ████░░░░░░░░ 8 min left"


def test_what_was_not_reached_is_named() -> None:
    """If this fails, a matrix that was cut off looks whole."""
    plan = plan_of("A", "B", "C")
    plan.start("test_A")
    missing = plan.not_reached(interrupted=True)
    assert [(one.case, one.variant) for one in missing] == [("B", "mock"), ("C", "spark")]
    assert {one.reason for one in missing} == {"interrupted before its turn"}
    assert plan_of().told() == ""


def test_rates_of_a_sweep() -> None:
    """If this fails, a sweep runs at other rates than asked for, or one twice."""
    swept = check_rates(RawOptions(), "5000, 20000,5000", matrix=True)
    assert [settings.rate_per_s for settings in swept] == [5_000, 20_000]
    assert check_rates(RawOptions(), None, matrix=False) == []


@pytest.mark.parametrize(
    ("raw", "rates", "matrix", "said"),
    [
        (RawOptions(), "5000", False, "--matrix-rates 5000: goes with --matrix"),
        (RawOptions(), "5000,x", True, "--matrix-rates x: not a whole number"),
        (RawOptions(), "", True, "--matrix-rates : not a whole number"),
        (RawOptions(), "0", True, "--matrix-rates 0: must be 1 to"),
        (RawOptions(rate="7"), "5000", True, "--rate 7 asks for one rate"),
    ],
)
def test_a_sweep_that_will_not_do_is_said(raw: RawOptions, rates: str, matrix: bool, said: str) -> None:
    """If this fails, a typo is found out after an hour of measuring."""
    with pytest.raises(UsageError, match="matrix-rates") as error:
        check_rates(raw, rates, matrix)
    assert said in str(error.value)
