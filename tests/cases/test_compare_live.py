"""Comparison and search on real runs: each way to make a pipeline worse must turn them red."""

from __future__ import annotations

import time
from dataclasses import replace

import orjson
import pytest

from bench import exit_codes, search
from bench.__main__ import main
from bench.cases import case_a
from bench.compare.comparison import compare_runs
from bench.outcome import Outcome
from bench.pipeline_a import PipelineA
from bench.report.folder import read_run
from bench.session import Session
from bench.verdict import Verdict

pytestmark = pytest.mark.sabotage


def limited_to(rate_per_s: float) -> type[PipelineA]:
    """An observer that can take so many events a second and no more."""

    class Limited(PipelineA):
        def __init__(self, context):
            super().__init__(context)
            take, observer = self._observer._take, self._observer
            began: list[float] = []  # with the first event: what set-up takes is no credit

            def take_slowly(batch):
                # Before, not after: a pause lets more gather, and the next batch would overdraw by that much.
                began.append(time.monotonic())
                ahead_s = (observer.max_seq + len(batch)) / rate_per_s - (time.monotonic() - began[0])
                if ahead_s > 0:
                    self.workers[0].stop.wait(ahead_s)
                take(batch)

            observer._take = take_slowly

    return Limited


class OneOverlooked(PipelineA):
    """An observer that overlooks a single event: what a bug in a consumer does."""

    def __init__(self, context):
        super().__init__(context)
        observer, find = self._observer, self._observer._seqs
        overlooked: list[int] = []

        def overlook(batch):
            seqs, arrived_ns = find(batch)
            if observer.max_seq > 5_000 and not overlooked and len(seqs):
                overlooked.append(int(seqs[0]))
                return seqs[1:], arrived_ns[1:]
            return seqs, arrived_ns

        observer._seqs = overlook


_BASE: list[Outcome] = []


@pytest.fixture
def base(settings, nats_stack, run, tmp_path_factory):
    """Case A as it is, and long enough to compare; run once for all tests here."""
    if _BASE:
        return _BASE[0]
    case = case_a(settings)
    case = replace(case, load=replace(case.load, measure_s=8), drain_s=15.0)
    outcome = run(case, nats_stack, reports_dir=tmp_path_factory.mktemp("base"), listed=False)
    assert outcome.verdict is Verdict.PASS, outcome.report
    _BASE.append(outcome)
    return outcome


def test_a_fifth_less_capacity_turns_gates_and_comparison_red(base, nats_stack, run, tmp_path, capsys):
    """A consumer that became a fifth too slow for its load would be called unchanged."""
    slow = limited_to(0.8 * base.case.load.rate_per_s)
    outcome = run(base.case, nats_stack, builder=slow, reports_dir=tmp_path, listed=False)
    assert outcome.verdict is Verdict.FAIL, outcome.report
    assert "rate_match" in {violation.metric for violation in outcome.report.violations}
    (case,) = compare_runs([read_run(base.folder)], [read_run(outcome.folder)]).cases
    assert case.finding == "regression"
    assert {"latency_ms_p50", "latency_ms_p99", "lag_max"} <= set(case.reasons)
    assert main(["compare", str(base.folder), str(outcome.folder)]) == exit_codes.REGRESSION
    assert "WORSE" in capsys.readouterr().out


def test_one_lost_event_turns_gates_and_comparison_red(base, nats_stack, run, tmp_path):
    """A consumer that loses one event in ten thousand would pass on its good latencies."""
    case = replace(base.case, drain_s=2.0)
    outcome = run(case, nats_stack, builder=OneOverlooked, reports_dir=tmp_path, listed=False)
    assert outcome.account.lost == 1
    assert "lost" in {violation.metric for violation in outcome.report.violations}
    (compared,) = compare_runs([read_run(base.folder)], [read_run(outcome.folder)]).cases
    assert compared.finding == "regression"
    assert "lost: 1 instead of 0" in compared.reasons


def test_search_confirms_what_it_reports(settings, nats_stack, run, tmp_path, monkeypatch):
    """A rate would be reported that no full run has held, or without what broke the next one."""
    monkeypatch.setattr(search, "PRECISION", 1.2)  # one rate that holds and one that does not are enough
    case = case_a(settings)
    limit = 1.5 * case.load.rate_per_s
    session = Session(tmp_path)
    searching = replace(run, search=True, session=session)
    outcome = searching(
        replace(case, drain_s=15.0), nats_stack, builder=limited_to(limit), reports_dir=tmp_path
    )
    assert outcome.verdict is Verdict.PASS, outcome.report
    found = orjson.loads((outcome.folder / "search.json").read_bytes())
    assert found["confirmed_per_s"] == outcome.case.load.rate_per_s <= limit
    assert found["broke_at_per_s"] > limit
    assert found["steps"][-1]["length"] == "full"
    assert session.found == [found["sentence"]]
    assert found["sentence"].startswith(
        f"A sustains {found['confirmed_per_s']:,} events/s (confirmed), breaks"
    )
    assert session.folders == [outcome.folder], "trials are not in the table"
