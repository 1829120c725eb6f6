"""Comparing runs: what is refused, what is a regression, and what each is called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench import exit_codes
from bench.compare.comparison import Comparison, compare_runs
from bench.compare.sameness import sameness
from bench.compare.samples import samples_of
from bench.compare.told import comparison_json, comparison_lines, comparison_markdown
from bench.report.run import GateRow, Ledger, Run
from bench.verdict import Verdict
from tests.unit.made_runs import MANIFEST, differing, run


def finding(*sides: list[Run] | Run, **options: Any) -> Any:
    base, new = (side if isinstance(side, list) else [side] for side in sides)
    (case,) = compare_runs(base, new, **options).cases
    return case


def test_the_same_again_is_no_regression() -> None:
    """If this fails, every comparison is red."""
    case = finding(run(1), run(2))
    assert case.finding == "no regression"
    assert {change.word for change in case.changes} == {"same"}
    assert len(case.changes) == 5
    assert compare_runs([run(1)], [run(2)]).exit_code == 0


def test_a_fifth_slower_is_a_regression() -> None:
    """If this fails, a slowdown of 20 % passes the gate."""
    base, new = [run(seed) for seed in range(5)], [run(seed, latency_ms=48.0) for seed in range(5, 10)]
    case = finding(base, new)
    assert case.finding == "regression"
    assert "latency_ms_p50" in case.reasons
    assert compare_runs(base, new).exit_code == exit_codes.REGRESSION


def test_one_run_alone_needs_more() -> None:
    """If this fails, what differs between two runs of the same code is called a regression."""
    assert finding(run(1), run(2, latency_ms=46.0)).finding == "no regression"
    assert finding(run(1), run(2, latency_ms=52.0)).finding == "regression"


def test_a_fifth_less_throughput_is_a_regression() -> None:
    """If this fails, a pipeline that no longer keeps up is called unchanged."""
    case = finding(run(1), run(2, rate=800.0))
    assert case.reasons == ("output_rate_per_s",)


def test_one_lost_message_is_a_regression() -> None:
    """If this fails, a loss hides behind good latencies."""
    case = finding(run(1), run(2, ledger=Ledger({"lost": 1}, {})))
    assert case.finding == "regression"
    assert case.reasons == ("lost: 1 instead of 0",)


def test_a_gate_that_broke_is_a_regression() -> None:
    """If this fails, a run that fails its gates can be "no regression"."""
    gate = GateRow("lag_max", "<=", 10.0, 50.0, "violated", "bounded", "gate")
    failed = run(2, verdict=Verdict.FAIL, gates=(gate,))
    assert finding(run(1), failed).reasons == ("gate lag_max is violated",)
    was_so = finding(run(1, verdict=Verdict.FAIL, gates=(gate,)), failed)
    assert was_so.finding == "no regression"
    assert any("the base itself fails" in flag for flag in was_so.flags)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"machine": {"cores": 4}}, "machine.cores"),
        ({"machine": {"cpu": "Y"}}, "machine.cpu"),
        ({"machine": {"memory_bytes": 50_000_000_000}}, "machine.memory_bytes"),
        ({"load": {"rate_per_s": 2000}}, "load.rate_per_s"),
        ({"transport": {"storage": "file"}}, "transport.storage"),
        ({"engine": {"trigger_ms": 100}}, "engine.trigger_ms"),
    ],
)
def test_what_answers_another_question_is_refused(changed: dict[str, Any], named: str) -> None:
    """If this fails, a faster machine or an easier setting passes for better code."""
    case = finding(run(1, manifest=differing(**changed)), run(2))
    assert case.finding == "no baseline"
    assert any(named in reason for reason in case.reasons), case.reasons
    assert compare_runs([run(1, manifest=differing(**changed))], [run(2)]).exit_code == exit_codes.NO_BASELINE


def test_another_version_of_the_case_is_refused() -> None:
    """If this fails, results of different meanings are compared."""
    old = run(1, manifest={**MANIFEST, "case_version": 0})
    assert finding(old, run(2)).finding == "no baseline"
    unknown = run(1, manifest={})
    assert finding(unknown, run(2, manifest={})).finding == "no baseline", "nothing known is not the same"


def test_refused_runs_are_never_mixed_with_others() -> None:
    """If this fails, one run of another machine among the base's moves its median."""
    case = finding([run(1), run(3, latency_ms=400, manifest=differing(machine={"cores": 64}))], run(2))
    assert case.base_ids == ("B-1",)


def test_versions_and_accepted_differences_are_flagged() -> None:
    """If this fails, a reader does not learn that NATS was another version, or cannot compare settings."""
    newer = differing(services={"nats": {"version": "2.16.0", "endpoint": "nats://127.0.0.1:2"}})
    case = finding(run(1), run(2, manifest=newer))
    assert case.finding == "no regression"
    assert any("2.15.1 in the base, 2.16.0 now" in flag for flag in case.flags)
    assert not any("endpoint" in flag for flag in case.flags)
    file = run(2, manifest=differing(transport={"storage": "file"}))
    assert finding(run(1), file, accepted=["transport"]).finding == "no regression"


def test_memory_may_differ_by_a_kernel_update() -> None:
    """If this fails, a reboot ends the history."""
    other = differing(machine={"memory_bytes": 24_900_000_000})
    assert sameness(MANIFEST, other).refused == ()


def test_an_invalid_run_is_neither_base_nor_finding() -> None:
    """If this fails, what could not be measured is compared."""
    invalid = run(2, verdict=Verdict.INVALID, invalid_reasons=("slip",))
    assert finding(run(1), invalid).finding == "invalid"
    assert compare_runs([run(1)], [invalid]).exit_code == exit_codes.INVALID
    assert finding(invalid, run(3)).finding == "no baseline"
    assert finding([], run(3)).finding == "no baseline"
    both = finding(run(1), [invalid, run(3)])
    assert both.finding == "no regression"
    assert any("left out" in flag for flag in both.flags)
    assert both.new_ids == ("B-3",), "what was left out is not counted"


def test_a_regression_outweighs_what_else_is_wrong() -> None:
    """If this fails, one invalid case hides the regression of another."""
    invalid = run(5, case="A", variant=None, verdict=Verdict.INVALID, invalid_reasons=("slip",))
    told = compare_runs([run(1)], [invalid, run(2, latency_ms=60)])
    assert told.exit_code == exit_codes.REGRESSION
    assert compare_runs([run(1)], [invalid, run(2)]).exit_code == exit_codes.INVALID


def test_runs_of_a_sweep_are_compared_by_rate() -> None:
    """If this fails, 5,000 events/s are the baseline of 50,000."""
    fast = differing(load={"rate_per_s": 2000})
    base = [run(1), run(3, latency_ms=400, target_rate_per_s=2000, manifest=fast)]
    new = [run(2), run(4, latency_ms=400, target_rate_per_s=2000, manifest=fast)]
    told = compare_runs(base, new)
    assert [case.name for case in told.cases] == ["B-mock at 1,000/s", "B-mock at 2,000/s"]
    assert told.exit_code == 0


def test_only_what_was_measured_is_compared() -> None:
    """If this fails, warm-up or draining decide."""
    samples = samples_of(run(1))
    assert {name: len(values) for name, values in samples.items()} == {
        "latency_ms_p50": 60,
        "latency_ms_p99": 60,
        "lag_max": 60,
        "output_rate_per_s": 60,
        "cpu_s_per_million": 59,
        "slip_ms_p99": 60,
    }
    assert samples["cpu_s_per_million"][0] == pytest.approx(200)
    windowed = samples_of(run(1, window_s=10.0))
    assert len(windowed["latency_ms_p99"]) == 6
    assert windowed["latency_ms_p99"][0] >= max(samples["latency_ms_p99"][:10])


def test_every_format_tells_the_finding() -> None:
    """If this fails, the terminal, the pull request and the program learn different things."""
    told = compare_runs([run(1)], [run(2, latency_ms=60.0)])
    plain = json.loads(comparison_json(told))
    assert plain["exit_code"] == exit_codes.REGRESSION
    assert plain["cases"][0]["changes"][0]["metric"] == "latency_ms_p50"
    for text in ("\n".join(comparison_lines(told)), comparison_markdown(told)):
        assert "regression" in text
        assert "WORSE" in text
    hostile = compare_runs([], [run(2, case="<img>|x")])
    assert "<img" not in comparison_markdown(hostile)
    assert Comparison().exit_code == exit_codes.NO_BASELINE
    assert comparison_lines(Comparison()) == ["nothing to compare"]
