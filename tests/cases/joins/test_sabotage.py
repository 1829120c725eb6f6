"""Real joins that are wrong on purpose: each must turn the ledger red, for the right reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.joins.run import run_case
from bench.joins.scenarios import iot
from bench.joins.workload import Ttl
from bench.verdict import RunFailed

pytestmark = [pytest.mark.joins, pytest.mark.sabotage]


class WithOtherTtl:
    """Tells the engine another TTL than the ledger knows of."""

    def __init__(self, spark, factor):
        self._spark, self._factor = spark, factor

    def __getattr__(self, name):
        return getattr(self._spark, name)

    def start(self, workload, *rest):
        ttl = Ttl(int(workload.ttl.default_us * self._factor))
        # The generator's rows stay what they are: only what the engine is told differs.
        self._spark.start(workload, *rest, ttl=ttl)


def test_a_ttl_that_is_too_long_is_seen(spark, streams, sizes, book, show):
    """Rows that have expired would be joined, and the hit rate be better than it should."""
    case = sizes.backlog("sabotage", iot, rows=8_000)
    outcome = run_case(WithOtherTtl(spark, 1.1), streams, case, show)
    assert outcome.account.wrong > 0
    assert outcome.account.hits > outcome.account.expected_hits
    assert (outcome.account.missing, outcome.account.unexpected) == (0, 0)
    with pytest.raises(RunFailed, match="wrong"):
        outcome.report.raise_unless_pass()


def test_a_join_rate_below_the_alert_is_seen(spark, streams, sizes, show):
    """Nobody would be woken up when a topic stops to match."""
    case = sizes.backlog("sabotage", iot, rows=8_000)
    case = replace(case, alerts=replace(case.alerts, low_join_rate=0.9))
    outcome = run_case(spark, streams, case, show)
    assert outcome.account.exact
    with pytest.raises(RunFailed, match="LowJoinRate"):
        outcome.report.raise_unless_pass()
