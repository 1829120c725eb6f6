"""What the joins suite makes of its outcomes: sizes, search, drift, scaling, tables, export, picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from bench.gates import evaluate
from bench.joins.book import JoinBook
from bench.joins.case import Alerts, JoinCase
from bench.joins.joined import Joined
from bench.joins.ledger import due_epoch_ns
from bench.joins.openmetrics import joins_openmetrics
from bench.joins.outcome import Sample, Seen, judge
from bench.joins.picture import picture
from bench.joins.publishing import Published, live_rows
from bench.joins.recovery import Recovery
from bench.joins.scaling import core_counts, scales
from bench.joins.scenarios import SCENARIOS, Size, enrichment, multi_stream
from bench.joins.seconds import Second
from bench.joins.sizes import FULL, SMOKE
from bench.joins.soak import soak_samples, with_drift
from bench.joins.spark_engine import join_order
from bench.joins.sustain import keeping_up, sustained, why
from bench.joins.tables import beside_table, emission_table
from bench.joins.truth import truth_of
from bench.joins.ways import WAYS
from bench.verdict import Verdict
from spark_jobs.join_query import JoinOrder
from spark_jobs.join_table import Table

START_NS = 1_700_000_000_000_000_000
SIZE = Size(facts=20_000, keys=100, spread=64, facts_per_s=1_000)
PER_S = 1_000


def outcome(make=enrichment, name="enrichment", delay_s=0.5, slower_by=0.0, alerts=None, acked=None):
    """A run whose rows come after `delay_s`, and `slower_by` seconds later with every second."""
    workload = make(SIZE)
    truth = truth_of(workload)
    due = due_epoch_ns(workload, truth, START_NS, PER_S)
    kept = truth.emitted
    late = delay_s + slower_by * (due - START_NS) / 1e9
    rows = Joined(
        truth.index[kept] + 1, truth.matches[kept], truth.totals[kept], (due + late * 1e9).astype(int)[kept]
    )
    total = workload.facts
    published = Published(total, total, total if acked is None else acked, 0, 0, 1.0, START_NS, PER_S, 20.0)
    case = JoinCase(name, workload, PER_S, alerts=alerts or Alerts())
    samples = [Sample(float(t), t * PER_S, t * PER_S, 500_000_000) for t in range(21)]
    lines = []
    told = judge(case, Seen(rows, lines, samples, published, 20.5, 3.0), 2)
    metrics = {**told.metrics, "events_per_s": 1_000.0, "state_left": 0, "cpu_s_per_million": 20.0}
    return replace(told, metrics=metrics, report=evaluate(case.gates(), metrics), run_id=f"join-{name}")


@pytest.mark.parametrize("sizes", [SMOKE, FULL], ids=["smoke", "full"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_live_case_lasts_as_long_as_it_should(sizes, scenario):
    """A case would be over before its warm-up, or take an hour."""
    case = sizes.live(scenario, SCENARIOS[scenario])
    rows = sum(live_rows(case.workload, topic) for topic in case.workload.topics)
    assert rows == pytest.approx(sizes.rows_per_s * sizes.live_s, rel=0.15)
    assert case.alerts.low_join_rate < truth_of(case.workload).hits.mean()
    if case.workload.streaming:
        assert case.workload.wait_us > 0


def test_event_time_of_a_paired_case_is_the_schedules():
    """An order would wait for its payment in another time than the one its latency is measured in."""
    case = SMOKE.live("multi-stream", multi_stream)
    seconds = case.workload.facts * case.workload.step_us / 1e6
    assert seconds == pytest.approx(SMOKE.live_s, rel=0.15)


def test_an_order_says_what_the_workload_means():
    """Spark would be told another join than the ledger expects."""
    workload = replace(multi_stream(SIZE), require=("payments",))
    order = join_order(workload, "r", "/c", 300, 100)
    payments, shipments = order.lookups
    assert (payments.required, payments.wait_us) == (True, workload.wait_us)
    assert (shipments.required, shipments.wait_us) == (False, 0)
    assert payments.ttl_us == workload.ttl.of("payments") != shipments.ttl_us
    assert sum(one.share for one in order.lookups) + order.share == pytest.approx(1.0)
    assert JoinOrder.from_dict(json.loads(json.dumps(order.__dict__, default=vars))) == order
    dimension = join_order(enrichment(SIZE), "r", "/c", 300, 100)
    assert (dimension.lookups[0].ttl_us, dimension.share, dimension.stateful) == (None, 1.0, False)


def test_a_table_finds_the_last_row_of_a_key_and_nothing_else():
    """A key below, between or above those that are there would meet a neighbour."""
    table = Table(np.array([2, 2, 5, 9]), np.array([1, 4, 2, 3]), np.array([10, 40, 20, 30]))
    found = table.find(pa.array([1, 2, 3, 5, 9, 10])).to_pylist()
    assert [(one["m"], one["v"]) for one in found] == [
        *[(None, None), (4, 40), (None, None)],
        *[(2, 20), (3, 30), (None, None)],
    ]
    empty = Table(*[np.empty(0, np.int64)] * 3)
    assert empty.find(pa.array([1, 2])).to_pylist() == [None, None]


def test_a_join_that_falls_behind_does_not_keep_up():
    """A rate at which the backlog grows would be called sustained."""
    steady, falling = outcome(), outcome(slower_by=0.1)
    assert keeping_up(steady).verdict is Verdict.PASS
    assert keeping_up(falling).verdict is Verdict.FAIL
    assert "delay_slope" in why(keeping_up(falling))
    assert falling.metrics["delay_slope_ms_per_s"] == pytest.approx(100, rel=0.1)


def test_the_search_finds_what_is_sustained():
    """The most that a join sustains would be a guess."""

    def run(case):
        return outcome(slower_by=0.0 if case.rows_per_s <= 9_000 else 0.2)

    def case_at(rate, length):
        return JoinCase(length, enrichment(SIZE), rate)

    found, last = sustained(case_at, run, 2_000, 64_000)
    assert 8_000 <= found.confirmed_per_s <= 9_000
    assert last.verdict is Verdict.PASS


def seconds_of(p99_ms):
    return [Second(float(t), 1_000, one / 2, one) for t, one in enumerate(p99_ms)]


@pytest.mark.parametrize(
    ("p99_ms", "memory", "verdict"),
    [
        ([800.0] * 120, [500_000_000] * 120, Verdict.PASS),
        ([800.0 + 60 * t for t in range(120)], [500_000_000] * 120, Verdict.FAIL),
        ([800.0] * 120, [500_000_000 + 10_000_000 * t for t in range(120)], Verdict.FAIL),
    ],
)
def test_drift_is_seen(p99_ms, memory, verdict):
    """A join that slows down or grows would pass a run of an hour."""
    told = replace(
        outcome(),
        seconds=seconds_of(p99_ms),
        samples=[Sample(float(t), 0, 0, one) for t, one in enumerate(memory)],
    )
    assert with_drift(told, 120.0, wide=False).verdict is verdict


def test_a_long_run_without_rows_is_invalid():
    """Nothing measured would be no drift."""
    told = replace(outcome(), seconds=[], samples=[])
    assert with_drift(told, 120.0, wide=False).verdict is Verdict.INVALID
    assert soak_samples([], [], 0.0, 1.0) == []


def test_scaling_is_by_core_and_against_one():
    """Twice the cores for half as much more would look like progress."""
    one = replace(outcome(), tasks=1)
    two = replace(one, tasks=2, metrics={**one.metrics, "events_per_s": 1_500.0})
    told = scales("x", [one, two])
    assert [(row.cores, row.speedup, row.efficiency) for row in told] == [(1, 1.0, 1.0), (2, 1.5, 0.75)]
    assert (core_counts(1), core_counts(2), core_counts(6)) == ([1], [1, 2], [1, 2, 4])


def a_book(folder):
    book = JoinBook(folder)
    recovery = Recovery(12.0, 20.0, 900.0, 950.0, 100, 200)
    book.note(outcome())
    book.note(replace(outcome(name="recovery, x"), recovery=recovery))
    book.note(outcome(multi_stream, "multi-stream"))
    book.note(outcome(multi_stream, "emission immediate"))
    book.note_way(WAYS[0], outcome())
    book.note_scales(scales("x", [replace(outcome(), tasks=1)]))
    return book


def test_a_book_leaves_all_it_was_told(tmp_path):
    """A figure would be on the screen and nowhere else."""
    book = a_book(tmp_path / "book")
    page = book.write().read_text()
    text = (tmp_path / "book" / "joins.md").read_text()
    for title in ("Cases", "Hit rates", "Beside published figures", "Emission", "Cores", "Recovery", "Ways"):
        assert f"### {title}" in text
        assert f"<h2>{title}</h2>" in page
    content = json.loads((tmp_path / "book" / "joins.json").read_text())
    assert [case["verdict"] for case in content["cases"]] == ["PASS"] * 4
    assert content["cases"][1]["recovery"]["silent_s"] == 12.0
    drawing = ElementTree.fromstring((tmp_path / "book" / "joins.svg").read_text())
    assert "enrichment" in "".join(drawing.itertext())
    assert JoinBook(tmp_path).empty()


def test_no_delay_is_drawn_where_no_row_came():
    """The line through an outage would show delays that nobody had."""
    rows = [Second(float(t), 10, 1.0, 2.0) for t in (0, 1, 2, 30, 31, 34)]
    drawing = str(picture([replace(outcome(), seconds=tuple(rows))]))
    points = re.findall(r'<polyline points="([^"]*)"', drawing)
    assert [len(line.split()) for line in points] == [3, 3]


def test_an_invalid_case_has_no_figure():
    """A run that could not be measured would stand in a table as a number."""
    invalid = outcome(acked=5)
    assert invalid.verdict is Verdict.INVALID
    assert beside_table([invalid])[1:] == []
    text = joins_openmetrics([invalid])
    assert 'verdict="INVALID"' in text
    assert "jetlag_join_memory_bytes" not in text


def test_what_waiting_brings_and_costs_is_told_side_by_side():
    """Completeness without its price would be an advertisement."""
    table = emission_table(
        [outcome(multi_stream, "multi-stream"), outcome(multi_stream, "emission immediate")]
    )
    assert [row[0] for row in table[1:]] == ["smart, all required", "immediate"]
    assert emission_table([outcome(multi_stream, "multi-stream")])[1:] == []


def test_the_export_is_openmetrics():
    """A scraper would refuse the file, or an alert be without its figure."""
    text = joins_openmetrics(
        [outcome(alerts=Alerts(1_000.0, 10.0, 0.5)), outcome(multi_stream, "multi-stream")]
    )
    assert text.endswith("# EOF\n")
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert len(families) == len(dict(families))
    for name in (
        *("jetlag_join_processed_events", "jetlag_join_rate_events_per_second", "jetlag_join_success_ratio"),
        *("jetlag_join_latency_seconds", "jetlag_join_memory_bytes", "jetlag_join_state_bytes"),
        *("jetlag_join_state_entries", "jetlag_join_state_evictions", "jetlag_join_gate_passed"),
    ):
        assert name in dict(families), name
    assert 'why="alert HighLatency"' in text
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) == len({line.rsplit(" ", 1)[0] for line in samples})
    units = dict(re.findall(r"^# UNIT (\S+) (\S+)$", text, re.MULTILINE))
    assert all(name.endswith(unit) for name, unit in units.items())
