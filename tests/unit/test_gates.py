"""Judging: what is missing is INVALID, what is violated is listed, nothing passes by default."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.gates import Gate, evaluate
from bench.verdict import RunFailed, RunInvalid, Verdict

relaxed = settings(deadline=None)  # a busy machine is no finding

LAG = Gate("lag_max", "<=", 50_000, "lag is bounded")
RATE = Gate("rate_per_s", ">=", 49_500, "the engine keeps up")
LOST = Gate("lost", "==", 0, "nothing is lost")
SLIP = Gate("slip_ms_p99", "<=", 20, "the producer kept its schedule", kind="validity")
GOOD: dict[str, float | int | None] = {"lag_max": 50_000, "rate_per_s": 49_500.0, "lost": 0, "slip_ms_p99": 3}


def test_all_gates_hold_at_their_bounds() -> None:
    """If this fails, a run exactly at its bounds is refused."""
    report = evaluate([LAG, RATE, LOST, SLIP], GOOD)
    assert report.verdict is Verdict.PASS
    assert all(result.passed for result in report.results)
    report.raise_unless_pass()


def test_every_violation_is_listed() -> None:
    """If this fails, only the first of several violations is reported."""
    report = evaluate([LAG, RATE, LOST, SLIP], GOOD | {"lag_max": 50_001, "rate_per_s": 1.5, "lost": 2})
    assert report.verdict is Verdict.FAIL
    assert [violation.metric for violation in report.violations] == ["lag_max", "rate_per_s", "lost"]
    with pytest.raises(RunFailed) as caught:
        report.raise_unless_pass()
    assert len(str(caught.value).splitlines()) == 1 + 3


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf"), np.float64("nan")])
@pytest.mark.parametrize("gate", [LAG, RATE, LOST])
def test_what_was_not_measured_is_invalid(gate: Gate, value: float | None) -> None:
    """If this fails, a metric that nobody measured passes or fails a run instead of voiding it."""
    report = evaluate([LAG, RATE, LOST], GOOD | {gate.metric: value})
    assert report.verdict is Verdict.INVALID
    assert [reason.split(":")[0] for reason in report.invalid_reasons] == [gate.metric]
    assert [result.status for result in report.results].count("missing") == 1


def test_an_absent_metric_is_named() -> None:
    """If this fails, a mistyped metric name leaves its gate open for ever."""
    report = evaluate([LAG, LOST], {"lag_max": 1})
    assert report.verdict is Verdict.INVALID
    assert report.invalid_reasons == ("lost: is missing, wanted == 0 (nothing is lost)",)


@pytest.mark.parametrize("gates", [[], [SLIP]])
def test_no_gate_is_invalid(gates: list[Gate]) -> None:
    """If this fails, a case that asks nothing of the pipeline passes."""
    report = evaluate(gates, GOOD)
    assert report.verdict is Verdict.INVALID
    assert report.invalid_reasons[0].startswith("no gate")


def test_invalid_comes_before_fail_and_still_lists_violations() -> None:
    """If this fails, a slipping producer blames the engine, or hides that events were lost as well."""
    report = evaluate([LAG, LOST, SLIP], GOOD | {"slip_ms_p99": 80, "lost": 1})
    assert report.verdict is Verdict.INVALID
    assert [violation.metric for violation in report.violations] == ["lost"]
    with pytest.raises(RunInvalid) as caught:
        report.raise_unless_pass()
    assert "slip_ms_p99: observed 80, wanted <= 20" in str(caught.value)
    assert "lost: observed 1, wanted == 0" in str(caught.value)


def test_two_gates_on_one_metric_both_count() -> None:
    """If this fails, a warning bound and a hard bound on one metric overwrite each other."""
    report = evaluate([LAG, Gate("lag_max", "<=", 10, "tight"), Gate("lag_max", ">=", 1, "some")], GOOD)
    assert [violation.bound for violation in report.violations] == [10]
    assert len(report.results) == 3


@pytest.mark.parametrize(
    "bad",
    [
        {"comparison": "<"},
        {"comparison": "=<"},
        {"kind": "soft"},
        {"bound": float("nan")},
        {"bound": float("inf")},
        {"metric": ""},
    ],
)
def test_an_impossible_gate_cannot_be_made(bad: dict[str, Any]) -> None:
    """If this fails, a mistyped gate is found only after the run, or never."""
    with pytest.raises(ValueError, match="gate on"):
        replace(LAG, **bad)


def test_a_metric_that_is_no_number_is_an_error_of_the_harness() -> None:
    """If this fails, a metric of the wrong type ("12 ms") is compared as if it were measured."""
    with pytest.raises(TypeError, match="lag_max"):
        evaluate([LAG], {"lag_max": "12 ms"})  # type: ignore[dict-item]


def test_the_report_is_plain_json_even_with_numpy_metrics() -> None:
    """If this fails, writing the report of a finished run raises, and the run is lost."""
    metrics: dict[str, Any] = {
        "lag_max": np.int64(60_000),
        "rate_per_s": np.float64(1.5),
        "lost": float("nan"),
    }
    report = json.loads(json.dumps(evaluate([LAG, RATE, LOST], metrics).as_dict(), allow_nan=False))
    assert report["verdict"] == "INVALID"
    assert [(one["metric"], one["observed"], one["status"]) for one in report["results"]] == [
        ("lag_max", 60_000, "violated"),
        ("rate_per_s", 1.5, "violated"),
        ("lost", None, "missing"),
    ]
    assert [one["metric"] for one in report["violations"]] == ["lag_max", "rate_per_s"]


@relaxed
@given(st.dictionaries(st.sampled_from(sorted(GOOD)), st.one_of(st.none(), st.floats(), st.integers())))
def test_a_pass_needs_every_metric_measured_and_within_bounds(metrics: dict[str, float | int | None]) -> None:
    """If this fails, some combination of missing and violated metrics adds up to a pass."""
    report = evaluate([LAG, RATE, LOST, SLIP], metrics)
    if report.verdict is Verdict.PASS:
        assert set(metrics) == set(GOOD)
        assert all(result.passed for result in report.results)
    else:
        assert report.violations or report.invalid_reasons
        assert any(not result.passed for result in report.results)
