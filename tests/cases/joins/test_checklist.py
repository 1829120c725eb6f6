"""The performance checklist, a case each: baseline, joins, most throughput, latency, memory, long run, cores.

Recovery is in test_recovery.py. Cases that say nothing at smoke size are run with --joins-full only.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.joins.run import run_case
from bench.joins.scaling import core_counts, scales
from bench.joins.scenarios import SCENARIOS, baseline, enrichment, iot
from bench.joins.soak import with_drift
from bench.joins.spark_engine import SparkJoins
from bench.joins.sustain import sustained
from bench.joins.ways import WAYS

pytestmark = pytest.mark.joins

#: Shares of the standard rate.
LOADS = (0.5, 1.0, 1.5)
TRIAL_S = 15.0
#: Of the long run: every row stays in its stream and in the ledger until the end.
MOST_ROWS = 3_000_000


@pytest.fixture
def full_only(sizes):
    if not sizes.full:
        pytest.skip("says nothing at smoke size; run it with --joins-full")


def exact(outcome):
    assert outcome.account.exact, outcome.account
    outcome.report.raise_unless_pass()


def test_baseline(warmed, spark, streams, sizes, book, show):
    """One topic and no join: what a join costs could not be told from what the rest costs."""
    warmed(baseline)
    exact(book.note(run_case(spark, streams, sizes.backlog("1 baseline, no join", baseline), show)))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.bench
def test_join_performance(scenario, full_only, warmed, spark, streams, sizes, book, show):
    """How fast each join is by itself would not be known: live, generator and broker share its cores."""
    warmed(SCENARIOS[scenario])
    number = 2 if scenario in ("enrichment", "iot") else 3
    case = sizes.backlog(f"{number} {scenario}", SCENARIOS[scenario])
    exact(book.note(run_case(spark, streams, case, show)))


@pytest.mark.parametrize("scenario", ["enrichment", "multi-stream"])
@pytest.mark.bench
def test_most_sustainable_throughput(scenario, full_only, warmed, spark, streams, sizes, book, show):
    """A rate that a short trial held would be called sustainable."""

    def case_at(rate, length):
        seconds = sizes.live_s if length == "full" else TRIAL_S
        case = sizes.live(f"4 most of {scenario}, {length}", SCENARIOS[scenario], rate, seconds)
        return replace(case, warmup_s=seconds / 3, alerts=replace(case.alerts, low_throughput_per_s=None))

    warmed(SCENARIOS[scenario])
    found, outcome = sustained(
        case_at, lambda case: run_case(spark, streams, case, show), sizes.rows_per_s, 100_000
    )
    book.note(outcome)
    book.note_found(scenario, found)
    assert outcome.account.exact
    assert found.confirmed_per_s is not None, found.told(scenario)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.bench
def test_latency_under_load(load, full_only, warmed, spark, streams, sizes, book, show):
    """A latency measured at rest would be told for one under load."""
    rate = int(sizes.rows_per_s * load)
    warmed(enrichment)
    case = sizes.live(f"5 latency at {rate:,}/s", enrichment, rate)
    outcome = book.note(run_case(spark, streams, case, show))
    assert outcome.account.exact, outcome.account
    assert outcome.metrics["latency_ms_p99"] is not None


@pytest.mark.bench
def test_memory_stress(full_only, spark, streams, sizes, book, show):
    """A state that is larger than what was tried would be where the join breaks."""
    case = replace(sizes, keys=sizes.stress_keys).backlog("6 memory stress", iot, 4 * sizes.stress_keys)
    outcome = book.note(run_case(spark, streams, case, show))
    exact(outcome)
    assert outcome.metrics["state_rows_max"] > sizes.stress_keys // 2


@pytest.mark.bench
def test_long_run(full_only, warmed, spark, streams, sizes, settings, book, show):
    """A join that slows down or grows with time would pass every short case."""
    seconds = float(settings.duration_s or sizes.soak_s)
    rate = max(10, min(sizes.rows_per_s // 2, int(MOST_ROWS / seconds)))
    warmed(iot)
    case = sizes.live("8 long run, iot", iot, rate, seconds)
    case = replace(case, warmup_s=min(30.0, seconds / 4))
    outcome = book.note(with_drift(run_case(spark, streams, case, show), seconds, wide=seconds < 120))
    exact(outcome)


@pytest.mark.parametrize("scenario", ["enrichment", "multi-stream"])
@pytest.mark.bench
def test_cores(scenario, full_only, settings, nats_stack, streams, sizes, book, show):
    """Nobody would know whether more cores help."""
    outcomes = []
    for cores in core_counts():
        with SparkJoins(nats_stack.nats.endpoint, cores, settings.spark_conf) as spark:
            warm = sizes.backlog("warm-up", SCENARIOS[scenario], sizes.backlog_rows // 4)
            run_case(spark, streams, warm, show)
            case = sizes.backlog(f"cores {cores}, {scenario}", SCENARIOS[scenario], sizes.backlog_rows // 2)
            outcomes.append(book.note(run_case(spark, streams, case, show)))
    book.note_scales(scales(scenario, outcomes))
    assert all(one.account.exact for one in outcomes)


@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
@pytest.mark.bench
def test_ways(way, full_only, spark, streams, sizes, book, show):
    """A join would be done in a way because it was the first that worked."""
    warm = sizes.backlog(f"way {way.name}, warm-up", way.make, sizes.backlog_rows // 10)
    run_case(spark, streams, warm, show, change=way.change)
    case = sizes.backlog(f"way {way.name}", way.make, sizes.backlog_rows // 5)
    case = replace(case, batch_rows=sizes.rows_per_s)  # what a micro-batch holds live
    outcome = book.note_way(way, run_case(spark, streams, case, show, change=way.change))
    assert outcome.account.seen > 0
    assert outcome.account.exact or not way.chosen, outcome.account
