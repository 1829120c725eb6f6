"""The search for a sustainable rate, on pipelines whose limit is known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from bench.cases import case_a, case_c, resized
from bench.search import LOWEST, PRECISION, Found, Search, nice_rate
from bench.settings import RawOptions, check_options
from bench.verdict import Verdict


class Pipeline:
    """Holds a rate up to its limit; a full run, which is longer, may hold less."""

    def __init__(self, limit: int, full_limit: int | None = None, verdict: Verdict = Verdict.FAIL) -> None:
        self.limits = {"trial": limit, "full": limit if full_limit is None else full_limit}
        self.verdict = verdict
        self.tried: list[tuple[int, str]] = []

    def run_at(self, rate: int, length: str) -> SimpleNamespace:
        self.tried.append((rate, length))
        verdict = Verdict.PASS if rate <= self.limits[length] else self.verdict
        return SimpleNamespace(verdict=verdict, run_id=f"{length}-{rate}")


def searched(
    pipeline: Pipeline, start: int = 1000, highest: int = 1_000_000
) -> tuple[Found, SimpleNamespace]:
    why: Callable[..., str] = lambda outcome: f"{outcome.run_id} broke"  # noqa: E731
    return Search(pipeline.run_at, why, start, highest).go()  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("limit", [37, 900, 1_000, 1_001, 43_210, 999_999])
@pytest.mark.parametrize("start", [10, 1_000, 400_000])
def test_the_limit_is_found_from_above_and_below(limit: int, start: int) -> None:
    """If this fails, the rate reported is far from what the pipeline can do."""
    pipeline = Pipeline(limit)
    found, outcome = searched(pipeline, start)
    assert found.confirmed_per_s is not None
    assert found.confirmed_per_s <= limit
    # Two digits matter: below 100 one more is up to a tenth.
    assert found.confirmed_per_s >= limit / (1 + PRECISION) * 0.95
    assert outcome.verdict is Verdict.PASS
    assert pipeline.tried[-1] == (found.confirmed_per_s, "full")
    assert len(pipeline.tried) <= 25


def test_no_number_without_its_confirmation() -> None:
    """If this fails, a rate that only short trials held is reported as sustained."""
    found, outcome = searched(Pipeline(50_000, full_limit=0))
    assert found.confirmed_per_s is None
    assert outcome.verdict is Verdict.FAIL
    assert "sustains" not in found.told("C-spark")
    assert "no rate was confirmed" in found.told("C-spark")


def test_a_confirmation_that_fails_is_tried_lower() -> None:
    """If this fails, a trial that was lucky ends the search without an answer."""
    found, _ = searched(Pipeline(50_000, full_limit=45_000))
    assert found.confirmed_per_s is not None
    assert 40_000 <= found.confirmed_per_s <= 45_000
    assert found.broke_at_per_s is not None
    assert found.broke_at_per_s > found.confirmed_per_s
    told = found.told("C-spark")
    assert told.startswith(f"C-spark sustains {found.confirmed_per_s:,} events/s (confirmed), breaks at ")
    assert f"because full-{found.broke_at_per_s} broke" in told


def test_what_the_harness_cannot_produce_is_no_limit_of_the_pipeline() -> None:
    """If this fails, a starved producer is reported as a slow pipeline without a word."""
    pipeline = Pipeline(20_000, verdict=Verdict.INVALID)
    found, _ = searched(pipeline)
    assert found.confirmed_per_s is not None
    assert {step.verdict for step in found.steps} == {"PASS", "INVALID"}


def test_the_highest_rate_allowed_is_where_it_ends() -> None:
    """If this fails, a search of a fast pipeline fills the memory."""
    pipeline = Pipeline(10**9)
    found, _ = searched(pipeline, start=1000, highest=64_000)
    assert found.confirmed_per_s == 64_000
    assert found.broke_at_per_s is None
    assert "nothing broke it" in found.told("A")
    assert max(rate for rate, _ in pipeline.tried) == 64_000


def test_a_pipeline_that_holds_nothing_ends_red() -> None:
    """If this fails, a broken pipeline is searched for ever, or passes."""
    pipeline = Pipeline(0)
    found, outcome = searched(pipeline)
    assert found.confirmed_per_s is None
    assert outcome.verdict is Verdict.FAIL
    assert min(rate for rate, _ in pipeline.tried) >= LOWEST
    assert len(pipeline.tried) < 15


@pytest.mark.parametrize(("rate", "nice"), [(43_187.3, 43_000), (99.6, 100), (12.4, 12), (1_049, 1_000)])
def test_rates_are_round(rate: float, nice: int) -> None:
    """If this fails, the report says 43,187 events/s as if the 187 meant anything."""
    assert nice_rate(rate) == nice


def test_a_resized_case_keeps_its_gates() -> None:
    """If this fails, a search at ten times the rate fails on the bound of the lower one, or loses a gate."""
    settings = check_options(RawOptions(rate="1000"))
    for case in (case_a(settings), case_c(settings, "spark")):
        faster = resized(case, 10_000, warmup_s=2, measure_s=8)
        assert (faster.load.rate_per_s, faster.load.warmup_s, faster.load.measure_s) == (10_000, 2, 8)
        bounds = {gate.metric: gate.bound for gate in case.gates}
        for gate in faster.gates:
            assert gate.bound == bounds[gate.metric] * (10 if gate.metric == "lag_max" else 1)
        at_once = case_a(check_options(RawOptions(rate="10000")))
        if case.letter == "A":
            assert faster.gates == at_once.gates
