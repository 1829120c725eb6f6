"""An outcome as result.json: plain JSON, whatever was measured and whatever was not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from bench.cases import case_b
from bench.gates import evaluate
from bench.latency import LatencyRecorder
from bench.ledger import Account
from bench.outage import Outage
from bench.outcome import RESULT_VERSION, Outcome
from bench.settings import RawOptions, check_options
from bench.verdict import RunFailed, RunInvalid, Verdict

CASE = case_b(check_options(RawOptions(rate="1000")))
KEYS = {
    "result_version",
    "run_id",
    "case",
    "variant",
    "verdict",
    "gates",
    "metrics",
    "lag_trend",
    "latency_us",
    "hops_us",
    "ledger",
    "outages",
    "resources",
    "driver_cpu_s_per_million",
    "details",
}


def good_metrics() -> dict[str, float | int | None]:
    values = {"==": 0.0, "<=": 0.0, ">=": 1.0}
    return {gate.metric: values[gate.comparison] for gate in CASE.gates} | {"lag_slope_per_s": 0.0}


def outcome(**changed: float | int | None) -> Outcome:
    metrics = {**good_metrics(), **changed}
    latency = LatencyRecorder()
    latency.record(np.array([1000, 2000, 3000], np.int64))
    return Outcome(
        case=CASE,
        run_id="run",
        folder=Path("reports/run"),
        report=evaluate(CASE.gates, metrics),
        metrics=metrics,
        account=Account(expected=3, seen=3, examples={"lost": ["seq 1"]}),
        latency=latency.total,
        hops={"intended_to_stored": LatencyRecorder().total},
        outages=[Outage("writer", "database: gone", 2.5, 5000.0)],
        resources={"nats": {"rss_bytes_max": 1.0}},
        driver_cpu_s_per_million={"writer": 1.5},
        details={"errors": []},
    )


def nothing_measured() -> Outcome:
    return replace(
        outcome(),
        report=evaluate(CASE.gates, {}),
        metrics={},
        account=None,
        latency=None,
        hops={},
        outages=[],
        resources={},
        driver_cpu_s_per_million={},
    )


@pytest.mark.parametrize("make", [outcome, nothing_measured])
def test_a_result_is_json_with_every_field(make) -> None:
    """If this fails, a finished run cannot be written, or a reader finds a field in some results only."""
    result = make().as_dict()
    assert set(result) == KEYS
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(orjson.dumps(result))
    assert result["result_version"] == RESULT_VERSION
    assert (result["case"], result["variant"], result["run_id"]) == ("B", "mock", "run")


def test_the_result_tells_what_was_measured() -> None:
    """If this fails, result.json and the run disagree."""
    result = outcome(lag_max=12).as_dict()
    assert result["verdict"] == result["gates"]["verdict"] == "PASS"
    assert result["metrics"]["lag_max"] == 12
    assert result["latency_us"]["count"] == 3
    assert result["hops_us"]["intended_to_stored"]["p99"] is None
    assert result["ledger"]["lost"] == 0
    assert result["ledger"]["examples"] == {"lost": ["seq 1"]}
    assert result["outages"] == [
        {"who": "writer", "what": "database: gone", "at_s": 2.5, "lasted_ms": 5000.0}
    ]


def test_verdicts_are_raised_as_what_they_are() -> None:
    """If this fails, a test of a case passes on a red run, or CI cannot tell FAIL from INVALID."""
    outcome().raise_unless_pass()
    with pytest.raises(RunFailed):
        outcome(lost=1).raise_unless_pass()
    with pytest.raises(RunInvalid):
        outcome(slip_ms_p99=None).raise_unless_pass()
    assert nothing_measured().verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("slope", "word"), [(0.0, "flat"), (9.0, "flat"), (11.0, "rising"), (-11.0, "falling"), (None, "unknown")]
)
def test_the_trend_is_a_word_beside_the_rate(slope: float | None, word: str) -> None:
    """If this fails, a lag that grows by one per cent of the rate is called flat."""
    assert outcome(lag_slope_per_s=slope).lag_trend == word


def test_latencies_are_in_milliseconds_or_absent() -> None:
    """If this fails, a table shows microseconds as milliseconds, or a zero for nothing."""
    assert outcome().latency_ms("p50") == pytest.approx(2.0, rel=0.01)
    assert outcome().latency_ms("max") == pytest.approx(3.0, rel=0.01)
    assert nothing_measured().latency_ms("p99") is None
    assert replace(outcome(), latency=LatencyRecorder().total).latency_ms("p99") is None
