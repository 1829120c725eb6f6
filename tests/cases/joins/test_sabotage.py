"""Real joins that are wrong on purpose: each must turn its case red, for the right reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.joins.run import run_case
from bench.joins.scenarios import iot
from bench.verdict import RunFailed

pytestmark = [pytest.mark.joins, pytest.mark.sabotage]

ROWS = 8_000


def test_a_ttl_that_is_too_long_is_seen(spark, streams, sizes, show):
    """Rows that have expired would be joined, and the hit rate be better than it should."""

    def keep_longer(order):
        lookups = tuple(replace(one, ttl_us=one.ttl_us * 11 // 10) for one in order.lookups)
        return replace(order, lookups=lookups)

    case = sizes.backlog("sabotage", iot, ROWS)
    outcome = run_case(spark, streams, case, show, change=keep_longer)
    assert outcome.account.wrong > 0
    assert outcome.account.hits > outcome.account.expected_hits
    assert (outcome.account.missing, outcome.account.unexpected) == (0, 0)
    with pytest.raises(RunFailed, match="wrong"):
        outcome.report.raise_unless_pass()


def test_a_join_that_emits_only_hits_is_seen(spark, streams, sizes, show):
    """What finds no match would silently be left out, and nobody be woken up by the join rate."""

    def hits_only(order):
        return replace(order, lookups=tuple(replace(one, required=True) for one in order.lookups))

    case = sizes.backlog("sabotage", iot, ROWS)
    case = replace(case, alerts=replace(case.alerts, low_join_rate=0.9))
    outcome = run_case(spark, streams, case, show, change=hits_only, stalled_s=8.0)
    account = outcome.account
    assert account.missing == account.facts - account.expected_hits > 0
    assert (account.wrong, account.duplicates, account.unexpected) == (0, 0, 0)
    with pytest.raises(RunFailed, match=r"(?s)missing.*LowJoinRate"):
        outcome.report.raise_unless_pass()
