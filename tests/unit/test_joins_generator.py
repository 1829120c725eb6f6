"""The generator of the joins suite: the same rows for the same seed, and the joins they were designed for."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.joins.chance import below, happens
from bench.joins.fakegen import add_to, workload_of, write_expected
from bench.joins.frames import TopicFrames
from bench.joins.publishing import facts_per_s, topic_rates
from bench.joins.rows import ahead_count, row_count, rows_of, value_of
from bench.joins.scenarios import EMISSIONS, SCENARIOS, Size, baseline, enrichment, iot, multi_stream
from bench.joins.truth import due_us, truth_of, truth_of_rows
from bench.joins.workload import CLOSING, Lookup, Ttl, Workload

EVERY = {**SCENARIOS, **EMISSIONS, "baseline": baseline}
SIZE = Size(facts=3_000, keys=150, spread=64, facts_per_s=1_000)


def every_row(workload, topic):
    return rows_of(workload, topic, np.arange(1, row_count(workload, topic) + 1))


def by_brute_force(workload):
    """Every fact against every row of every topic: (emitted, matches) by fact, as a dictionary would join."""
    facts = every_row(workload, workload.fact)
    tables = []
    for lookup in workload.lookups:
        rows, table = every_row(workload, lookup.topic), {}
        for number, ts_us, key in zip(rows.numbers, rows.ts_us, rows.keys[0], strict=True):
            table.setdefault(int(key), []).append((int(number), int(ts_us)))
        tables.append(table)
    emitted, matches = [], []
    for at in range(workload.facts):
        found, comes = [], True
        for which, lookup in enumerate(workload.lookups):
            candidates = tables[which].get(int(facts.keys[which][at]), [])
            if lookup.kind != "dimension":
                before, after = workload.reach_us(lookup)
                distance = [(number, ts - int(facts.ts_us[at])) for number, ts in candidates]
                candidates = [(number, away) for number, away in distance if -before <= away <= after]
            assert len(candidates) <= 1, "a fact must meet at most one row of a topic"
            found.append(candidates[0][0] if candidates else 0)
            comes &= bool(candidates) or not workload.waits_for(lookup)
        emitted.append(comes)
        matches.append(found)
    return np.array(emitted), np.array(matches, np.int64).reshape(workload.facts, len(workload.lookups))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seed", [1, 7])
def test_the_closed_form_is_what_a_brute_force_join_finds(name, seed):
    """The ledger would hold a right join against a wrong truth."""
    workload = EVERY[name](replace(SIZE, seed=seed))
    truth, (emitted, matches) = truth_of(workload), by_brute_force(workload)
    assert np.array_equal(truth.emitted, emitted)
    assert np.array_equal(truth.matches, matches)


@pytest.mark.parametrize(
    ("name", "designed"),
    [("enrichment", 0.95), ("multi-stream", 0.85), ("high-dimensional", 0.9), ("iot", 0.75)],
)
def test_the_hit_rate_is_the_designed_one(name, designed):
    """A figure beside the designed rate would compare nothing with nothing."""
    workload = SCENARIOS[name](Size(facts=200_000, keys=2_000, spread=1_024))
    assert workload.hit_rate == designed
    assert truth_of(workload).hits.mean() == pytest.approx(designed, abs=0.005)


def test_several_rolling_topics_make_the_hit_rate_together():
    """Each topic would miss a quarter, and all of them more than half."""
    lookups = (Lookup("a", "rolling"), Lookup("b", "rolling"))
    ttl = Ttl(1_000_000, (("b", 2_000_000),))
    workload = Workload("facts", lookups, 100_000, 0.75, ttl=ttl, step_us=100, keys=500)
    assert truth_of(workload).hits.mean() == pytest.approx(0.75, abs=0.01)


def test_immediate_gives_up_completeness_and_no_row():
    """The price of not waiting would not show."""
    now, some, all_of = (EVERY[name](SIZE) for name in (*EMISSIONS, "multi-stream"))
    truths = [truth_of(one) for one in (now, some, all_of)]
    assert truths[0].emitted.all()
    assert truths[0].hits.sum() < truths[1].hits.sum() < truths[2].hits.sum()
    assert (truths[2].emitted == truths[2].hits).all()
    assert (due_us(now, truths[0]) == 0).all()
    assert (due_us(all_of, truths[2]) > 0).any()


def test_a_ttl_override_changes_what_matches():
    """A topic's own TTL would be read and not obeyed."""
    usual = multi_stream(SIZE)
    shorter = replace(usual, ttl=replace(usual.ttl, overrides=(("payments", 10_000),)), hit_rate=0.3)
    longer = replace(shorter, ttl=replace(usual.ttl, overrides=()))
    assert (
        truth_of(shorter).matches[:, 0].astype(bool).sum() < truth_of(longer).matches[:, 0].astype(bool).sum()
    )


@given(st.integers(0, 2**31), st.integers(0, 50), st.lists(st.integers(0, 2**40), min_size=1, max_size=50))
def test_chance_depends_on_the_number_alone(seed, salt, numbers):
    """A producer that builds other blocks, or a ledger that looks one up, would see other rows."""
    all_at_once = np.array(numbers, np.int64)
    one_by_one = np.concatenate([below(np.array([one], np.int64), 97, seed, salt) for one in numbers])
    assert np.array_equal(below(all_at_once, 97, seed, salt), one_by_one)
    assert ((one_by_one >= 0) & (one_by_one < 97)).all()
    assert happens(all_at_once, 1.0, seed, salt).all()
    assert not happens(all_at_once, 0.0, seed, salt).any()


@given(
    st.sampled_from(sorted(EVERY)),
    st.integers(1, 2_000),
    st.integers(1, 300),
    st.sampled_from([2, 16, 128]),
    st.integers(0, 1000),
)
def test_rows_and_truth_hold_at_any_size(name, facts, keys, spread, seed):
    """An odd size would break a stride, a block or a closing row."""
    workload = EVERY[name](Size(facts, keys, spread, 1_000, seed))
    for topic in workload.topics:
        rows = every_row(workload, topic)
        expiring = topic == workload.fact or workload.ttl.of(topic) is not None
        assert not expiring or (np.diff(rows.ts_us) > 0).all(), "Spark would drop a row as late"
        assert all((keys >= 0).all() for keys in rows.keys)
        assert ahead_count(workload, topic) <= row_count(workload, topic)
    truth = truth_of(workload)
    for which, lookup in enumerate(workload.lookups):
        met = truth.matches[:, which]
        assert met.max() <= row_count(workload, lookup.topic) - (CLOSING if workload.streaming else 0)
    middle = np.arange(facts // 2, facts)
    assert np.array_equal(truth_of_rows(workload, middle).totals, truth.totals[facts // 2 :])


def parsed(frames, count):
    data = bytes(frames.build(np.arange(1, count + 1), np.zeros(count, np.int64), np.arange(1, count + 1)))
    assert len(data) == frames.width * count
    for at in range(count):
        line, body = data[at * frames.width : (at + 1) * frames.width].split(b"\r\n", 1)
        assert int(line.split()[-1]) == len(body) - 2
        assert frames.seq_of(body) == at + 1
        yield line.split()[1], json.loads(body)


@pytest.mark.parametrize("name", EVERY)
def test_frames_say_what_the_rows_are(name):
    """What is published would not be what the ledger expects."""
    workload = EVERY[name](SIZE)
    for topic in workload.topics:
        total, first = row_count(workload, topic), 1
        frames = TopicFrames(workload, topic, first, total, "_INBOX.x")
        rows = every_row(workload, topic)
        for at, (subject, body) in enumerate(parsed(frames, min(total, frames.capacity))):
            assert subject == f"join.{topic}".encode()
            keys = [body[f"k{which}"] for which in range(len(rows.keys))]
            assert keys == [int(key[at]) for key in rows.keys]
            assert (body["seq"], body["ts_us"]) == (at + 1, int(rows.ts_us[at]))
            assert body["value"] == value_of(np.array([at + 1]))[0]


def test_frames_can_begin_in_the_middle():
    """Rows after those published ahead would begin at number 1 again."""
    workload = iot(SIZE)
    ahead = ahead_count(workload, "device_status")
    frames = TopicFrames(workload, "device_status", ahead + 1, 10, "_INBOX.x")
    assert [body["seq"] for _, body in parsed(frames, 10)] == list(range(ahead + 1, ahead + 11))


def test_all_topics_together_make_the_rate():
    """Three topics at a rate of 30,000 would mean 90,000."""
    workload = multi_stream(Size(facts=10_000, keys=1, spread=16))
    assert sum(topic_rates(workload, facts_per_s(workload, 30_000)).values()) == pytest.approx(
        30_000, rel=0.01
    )
    assert facts_per_s(enrichment(SIZE), 30_000) == 30_000, "a dimension is published before"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fact": "a b"}, "wanted different names"),
        ({"fact": "user_profiles"}, "wanted different names"),
        ({"hit_rate": 0.0}, "hit rate 0"),
        ({"facts": 0}, "at least one fact"),
        ({"spread": 100}, "power of two"),
        ({"ttl": Ttl()}, "a dimension never expires"),
        (
            {"lookups": (Lookup("user_profiles", "dimension"), Lookup("x", "rolling"))},
            "topics of different kinds",
        ),
        ({"emission": "smart"}, "say what is required"),
        ({"require": ("nobody",)}, "no such topic"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(change, said):
    """A misspelt topic or an impossible rate would show as a join that misses."""
    with pytest.raises(ValueError, match=said):
        replace(enrichment(SIZE), **change)


def test_a_hit_rate_that_the_ttls_do_not_allow_is_refused():
    """The designed hit rate would not be reached, and the join be blamed."""
    workload = multi_stream(SIZE)
    tight = replace(workload, ttl=Ttl(1_000), hit_rate=0.9)
    with pytest.raises(ValueError, match=r"only .* come in time"):
        truth_of(tight)


def options_of(*words):
    parser = argparse.ArgumentParser()
    add_to(parser.add_subparsers())
    return parser.parse_args(["fakegen", *words])


@pytest.mark.parametrize("join", ["dimensions", "events", "rolling"])
def test_fakegen_knows_its_join(join, tmp_path):
    """The file of expected rows would not be what the topics join to."""
    words = ("--topics", "a,b,c", "--rate", "900", "--duration", "3s", "--keys", "50", "--hit-rate", "0.7")
    workload = workload_of(options_of(*words, "--join", join, "--ttl", "2s"))
    assert workload.topics == ("a", "b", "c")
    path = tmp_path / "expected"
    write_expected(workload, path)
    emitted, matches = by_brute_force(workload)
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["seq"] for row in told] == (np.flatnonzero(emitted) + 1).tolist()
    assert [[row["m0"] or 0, row["m1"] or 0] for row in told] == matches[emitted].tolist()


@pytest.mark.parametrize(
    "words",
    [
        ("--topics", "a", "--rate", "0", "--duration", "3s"),
        ("--topics", "a", "--rate", "5", "--duration", "soon"),
        ("--topics", "a", "--rate", "5", "--duration", "3s", "--seed", "-1"),
        ("--topics", "a", "--rate", "5", "--duration", "3s", "--join", "sql"),
    ],
)
def test_fakegen_refuses_bad_words(words, capsys):
    """A typing error would be a traceback, or a load that nobody asked for."""
    with pytest.raises(SystemExit) as refused:
        options_of(*words)
    assert refused.value.code == 2


def test_a_single_topic_is_no_join():
    """The baseline could not be published."""
    workload = workload_of(options_of("--topics", "a", "--rate", "5", "--duration", "3s"))
    assert (workload.lookups, workload.facts) == ((), 15)
    assert truth_of(workload).hits.all()
    assert Workload("a", (Lookup("b", "rolling"),), 5).streaming
