"""The four scenarios, live: every row that a right join makes, once, and no other."""

from __future__ import annotations

import pytest

from bench.joins.run import run_case
from bench.joins.scenarios import EMISSIONS, SCENARIOS

pytestmark = pytest.mark.joins


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario, warmed, spark, streams, sizes, book, show):
    """A join would lose, double or mismatch rows, and its rate would look fine."""
    warmed(SCENARIOS[scenario])
    outcome = book.note(run_case(spark, streams, sizes.live(scenario, SCENARIOS[scenario]), show))
    outcome.report.raise_unless_pass()
    assert outcome.account.exact
    assert outcome.account.hits == outcome.account.expected_hits > 0
    if outcome.case.workload.streaming:
        assert outcome.metrics["evictions"] > 0, "nothing ever expired, so no TTL was seen at work"


@pytest.mark.parametrize("emission", EMISSIONS)
def test_emission(emission, warmed, spark, streams, sizes, book, show):
    """An emission strategy would wait for what it need not, or give up what it promised to wait for."""
    warmed(EMISSIONS[emission])
    case = sizes.live(f"emission {emission}", EMISSIONS[emission])
    outcome = book.note(run_case(spark, streams, case, show))
    assert outcome.account.exact, outcome.account
    assert outcome.account.seen > 0
