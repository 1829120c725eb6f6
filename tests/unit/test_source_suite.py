"""The source suite's arithmetic: what it takes for true, how it judges, what it draws and tells."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from bench.contract.event import value_of
from bench.infra.endpoint import NatsEndpoint
from bench.source.backlog import Backlog, batch_rows
from bench.source.bento_config import COUNT, SUM, source_config
from bench.source.book import SourceBook
from bench.source.breakdown import stages
from bench.source.growth import Growth
from bench.source.outcome import judge
from bench.source.sweep import Cell, Point, all_cells, beaten_by, default_cell, front, judge_sweep, middle
from bench.source.truth import kept_totals
from bench.source.turn import SourceTurn
from bench.sparkbench.preload import Preload
from bench.sparkbench.turn import steady_per_s
from bench.verdict import Verdict

EVENTS = 1_000
BACKLOG = Backlog(Preload(EVENTS, batch_rows(EVENTS, 2), 2, Path()), 0, 10)
NATS = NatsEndpoint("127.0.0.1", 4222, "jetlag", "a$b{c}@/")
DETAIL = {
    "batches": 2,
    "durations_ms": {"addBatch": 400, "walCommit": 20, "commitOffsets": 20, "triggerExecution": 500},
    "state_ms": {"commit": 30},
    "jvm_cpu_s": 0.003,
    "python_cpu_s": 0.004,
    "source": {"cpu_s": {"fetch": 0.001, "parse": 0.001, "hand_over": 0.001}},
}


def turn(mode, per_s, pipeline="filter", count=0, sum_value=0, detail=DETAIL):
    truth = kept_totals(1, EVENTS)
    totals = (truth.count + count, truth.sum_value + sum_value)
    return SourceTurn(mode, pipeline, EVENTS + 1, (EVENTS + 1) / per_s, *totals, 0.007, 0.002, detail)


def judged(source=80.0, raw=100.0, files=400.0, bound=0.7, pipeline="filter", engine="spark", **wrong):
    turns = [turn("files", files, pipeline), turn("jetstream", source, pipeline, **wrong)]
    return judge(engine, pipeline, BACKLOG, turns, [raw], bound)


def point(fetch, linger, per_s, held, partitions=2, wrong=0):
    return Point(Cell(fetch, linger, partitions), 1_000, 10, per_s, held / 2, held, wrong, 0)


def default_point(per_s, held):
    cell = default_cell(2)
    return point(cell.fetch_batch, cell.linger_ms, per_s, held)


@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 2), (2, 2), (1, 1_000), (17, 1_001)])
def test_the_closed_form_is_what_the_filter_keeps(first, last):
    """The suite would call a lossy source exact, or an exact one lossy."""
    kept = [value_of(seq) for seq in range(first, last + 1) if value_of(seq) % 2 == 0]
    totals = kept_totals(first, last)
    assert (totals.count, totals.sum_value) == (len(kept), sum(kept))


@pytest.mark.parametrize("events", [1, 9_999, 20_000, 100_000, 1_000_000, 2_000_000])
@pytest.mark.parametrize("tasks", [1, 2, 3, 16])
def test_batches_are_alike_in_both_ways(events, tasks):
    """A last batch of a single event would decide the figure, or files make other batches than the stream."""
    rows = batch_rows(events, tasks)
    assert rows % tasks == 0
    batches = -(-(events + 1) // rows)
    assert batches <= max(3, round(events / 200_000))
    assert batches == 1 or (events + 1) % rows == 0 or (events + 1) % rows > rows / 2


def test_a_turn_counts_without_its_first_and_its_last_batch():
    """The start of a query would be taken for what its source costs; what the first batch reads for the
    second, for nothing.
    """
    assert steady_per_s([(100, 5_000), (100, 50), (100, 50), (100, 10)]) == 2_000
    assert steady_per_s([(100, 5_000), (100, 50)]) == 2_000
    assert steady_per_s([(100, 50)]) == 2_000


@pytest.mark.parametrize(("raw", "files"), [(100.0, 400.0), (400.0, 100.0)])
def test_efficiency_is_against_the_slower_of_reader_and_engine(raw, files):
    """A fast broker would excuse a slow source, or a slow one condemn it."""
    outcome = judged(80.0, raw, files)
    assert outcome.metrics["efficiency"] == pytest.approx(0.8)
    assert outcome.report.verdict is Verdict.PASS
    assert judged(60.0, raw, files).report.verdict is Verdict.FAIL


def test_without_a_bound_speed_is_told_and_not_judged():
    """A smoke run on a busy machine would be red for its speed."""
    assert judged(1.0, bound=None).report.verdict is Verdict.PASS


@pytest.mark.parametrize("wrong", [{"count": -1}, {"count": 1}, {"sum_value": 3}])
def test_one_event_too_few_or_too_many_is_red(wrong):
    """A source that loses or doubles one event of a million would pass."""
    outcome = judged(90.0, **wrong)
    assert outcome.report.verdict is Verdict.FAIL
    assert {one.metric for one in outcome.report.violations} < {"wrong_count", "wrong_sum"}


def test_the_front_is_what_nobody_beats():
    """A slower cell that holds events longer would be drawn as a choice."""
    quick, middle, slow = point(1, 0, 10, 0.1), point(64, 0, 80, 1), point(1_024, 5, 100, 9)
    beaten = point(16, 20, 70, 2)
    assert front([slow, beaten, middle, quick]) == [quick, middle, slow]


def test_the_default_is_beaten_only_beyond_the_noise():
    """The gate would turn red with the weather, or never."""
    ours = default_point(100, 10)
    assert beaten_by([ours, point(256, 5, 109, 5)], ours) == []
    assert beaten_by([ours, point(256, 5, 200, 11)], ours) == []
    assert len(beaten_by([ours, point(256, 5, 112, 5)], ours)) == 1


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        ([point(1, 0, 5, 0.1), default_point(100, 10)], Verdict.PASS),
        ([point(1, 0, 50, 0.1), default_point(100, 10)], Verdict.FAIL),  # no collapse: nothing is shown
        ([point(1, 0, 5, 0.1), point(64, 1, 150, 5), default_point(100, 10)], Verdict.FAIL),
        ([point(1, 0, 5, 0.1, wrong=1), default_point(100, 10)], Verdict.FAIL),
        ([point(1, 0, 5, 0.1)], Verdict.INVALID),  # the default was not measured
    ],
)
def test_the_sweep_can_be_red(points, verdict):
    """A sweep without its collapse, or with a better setting than the default, would pass."""
    assert judge_sweep(points, 2, full=True).verdict is verdict


def test_a_cell_is_its_median_but_what_was_wrong_once_stays_wrong():
    """A pause of the server would be told as the setting's, or a turn that lost an event be voted down."""
    turns = [point(256, 5, rate, held) for rate, held in [(90, 3.0), (30, 9.0), (100, 2.0)]]
    turns[2] = replace(turns[2], wrong_count=1, wrong_sum=7)
    one = middle(turns)
    assert (one.events_per_s, one.held_ms_p99) == (90, 3.0)
    assert (one.wrong_count, one.wrong_sum) == (1, 7)
    assert one.cell == turns[0].cell


def test_the_sweep_has_every_cell_once_and_the_default():
    """A hole in the heat map would be taken for a measurement that was not wanted."""
    cells = all_cells()
    assert len(cells) == len(set(cells))
    assert len([cell for cell in cells if not cell.is_default]) >= 6 * 4 * 3 - 3
    assert {cell.partitions for cell in cells if cell.is_default} == {1, 2, 4}


def test_stages_add_up():
    """The breakdown would tell some CPU twice, or leave some out."""
    rows = {row.name: row for row in stages(turn("jetstream", 80.0), turn("jetstream", 60.0, "aggregate"))}
    ours = turn("jetstream", 60.0)
    cpu = [row.cpu_s_per_million for row in rows.values() if row.cpu_s_per_million is not None]
    assert sum(cpu) == pytest.approx((0.003 + 0.004 + ours.server_cpu_s) / ours.events * 1e6)
    assert rows["whole micro-batch"].wall_ms_per_batch == 250


def test_what_a_session_leaves(tmp_path):
    """The tables, the picture or the engines that were not run would be missing from the report."""
    book = SourceBook(tmp_path / "deep")
    assert book.empty()
    book.not_run.append(("arroyo", "no image <here>"))
    book.note(judged())
    book.note(judged(pipeline="aggregate"))
    book.points += [point(1, 0, 5, 0.1), point(256, 5, 90, 3), default_point(100, 10)]
    book.growth.append(Growth(10, 512, 1, 5.0, 2560.0, 1.0, 2.0, True))
    page = book.write()
    text = page.read_text()
    assert "not run: no image &lt;here&gt;" in text
    assert "<script" not in text
    drawing = ElementTree.parse(tmp_path / "deep" / "source.svg").getroot()
    words = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"one event at a time", "256 events or 5 ms", "the default", "over files"} <= words
    told = json.loads((tmp_path / "deep" / "source.json").read_text())
    assert [case["verdict"] for case in told["cases"]] == ["PASS", "PASS"]
    assert len(told["sweep"]["points"]) == 3
    assert told["stages"]
    markdown = (tmp_path / "deep" / "source.md").read_text()
    assert "| spark | filter | 1,000 | PASS | 100 | 400 | 80 | 0.80 | ≥ 0.7 | 50,000: missed |" in markdown


@pytest.mark.parametrize("mode", ["files", "jetstream"])
@pytest.mark.parametrize("pipeline", ["filter", "aggregate"])
def test_bento_s_two_ways_differ_by_their_input_alone(mode, pipeline):
    """Bento's source would be compared with another pipeline than its own."""
    text = source_config("127.0.0.1:1", mode, pipeline, NATS, "/tmp/*.json")
    assert "$" not in text, "Bento would fill in what follows a dollar"
    config, other = json.loads(text), json.loads(source_config("127.0.0.1:1", "files", pipeline, NATS, "/x"))
    child = config["input"]["batched"].pop("child")
    other["input"]["batched"].pop("child")
    assert config == other
    assert list(child) == [{"files": "file", "jetstream": "nats_jetstream"}[mode]]
    counters = [one["metric"]["name"] for one in config["pipeline"]["processors"] if "metric" in one]
    assert counters == [COUNT, SUM]
