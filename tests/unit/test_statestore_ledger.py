"""The statestore suite's ledger, by sabotage: whatever is spoiled in a whole account turns it red."""

from __future__ import annotations

import copy
import zlib

import pytest

from bench.statestore.figures import measure, read_batches
from bench.statestore.ledger import GATES, account, judge
from bench.statestore.load import Growth, Launch
from bench.verdict import Verdict
from spark_jobs.statestore.latencies import bucket_of, joined, quantile_ms
from spark_jobs.statestore.messages import task_print
from spark_jobs.statestore.payloads import payload

LAUNCH = Launch(20, 100, "0badcafe", tasks=10, stuck_every=50)
TRUTH = LAUNCH.truth


def whole():
    """Endings and audit of a run in which all went well; one timer is still pending."""
    endings = [{"kind": "timed-out", "of": task} for task in sorted(TRUTH.stuck)]
    endings += [{"kind": "ended", "of": name} for name in sorted(TRUTH.workflows)]
    last = task_print(LAUNCH.name_of(0), 0)
    audit = {
        "kinds": [
            row("workflow", "E", 20),
            row("taskrun", "C", 196),
            row("taskrun", "F", 4),
            row("t", None, 1, print_=last),
            row("metrics-window", None, 3),
        ],
        "totals": [
            {
                "messages": TRUTH.messages,
                "completes": 195,
                "late": 1,
                "stray": 0,
                "timers_set": 200,
                "timers_fired": 199,
                "set_print": TRUTH.prints,
                "fired_print": TRUTH.prints - last,
                "grown": 0,
            }
        ],
        "workflows_that_differ": 0,
    }
    return endings, audit


def row(kind, letter, count, torn=0, print_=0):
    return {"kind": kind, "letter": letter, "count": count, "bytes": 10, "torn": torn, "print": print_}


def test_a_whole_account_passes():
    """Nothing could ever pass."""
    metrics = account(TRUTH, *whole())
    assert judge(metrics).verdict is Verdict.PASS, judge(metrics).violations


def _ending_lost(endings, _audit):
    endings.pop()


def _ending_twice(endings, _audit):
    endings.append(endings[-1])


def _ending_unknown(endings, _audit):
    endings.append({"kind": "ended", "of": "0badcafe-00000999"})


def _time_out_lost(endings, _audit):
    endings.pop(0)


def _time_out_twice(endings, _audit):
    endings.append(endings[0])


def _total(name, by):
    def spoil(_endings, audit):
        audit["totals"][0][name] += by

    return spoil


def _kind(number, field, by):
    def spoil(_endings, audit):
        audit["kinds"][number][field] += by

    return spoil


def _still_running(_endings, audit):
    audit["kinds"].append(row("workflow", "R", 1))


def _task_open(_endings, audit):
    audit["kinds"].append(row("taskrun", "S", 1))


def _differ(_endings, audit):
    audit["workflows_that_differ"] = 1


def _one_timer_for_another(_endings, audit):
    """As many fired, but one of them twice and another never."""
    audit["totals"][0]["fired_print"] += task_print("a", 1) - task_print("b", 1)


@pytest.mark.parametrize(
    ("spoil", "metric"),
    [
        (_ending_lost, "workflows_lost"),
        (_ending_twice, "workflows_twice"),
        (_ending_unknown, "workflows_unknown"),
        (_still_running, "workflows_open"),
        (_differ, "workflows_that_differ"),
        (_kind(1, "count", -1), "task_runs_missing"),
        (_kind(1, "count", 1), "task_runs_missing"),
        (_task_open, "task_runs_open"),
        (_kind(1, "torn", 1), "task_runs_torn"),
        (_total("messages", -1), "messages_missing"),
        (_total("messages", 1), "messages_missing"),
        (_total("completes", -1), "completes_missing"),
        (_total("late", 1), "completes_missing"),
        (_total("stray", 1), "stray"),
        (_total("timers_set", -1), "timers_missing"),
        (_total("set_print", 5), "timers_wrong"),
        (_total("timers_fired", -1), "timers_lost"),
        (_total("timers_fired", 1), "timers_lost"),
        (_one_timer_for_another, "timers_twice"),
        (_time_out_lost, "time_outs_missing"),
        (_time_out_twice, "time_outs_twice"),
        (_kind(2, "count", 1), "time_outs_differ"),
        (_total("grown", 1), "grown_missing"),
    ],
)
def test_a_spoilt_account_is_red_for_its_reason(spoil, metric):
    """A gate that cannot fail would vouch for anything."""
    endings, audit = copy.deepcopy(whole())
    spoil(endings, audit)
    report = judge(account(TRUTH, endings, audit))
    assert report.verdict is Verdict.FAIL
    assert metric in {violation.metric for violation in report.violations}


def test_every_gate_is_spoilt_above():
    """A new gate would come without its sabotage."""
    marks = test_a_spoilt_account_is_red_for_its_reason.pytestmark
    assert {metric for _, metric in marks[0].args[1]} == {gate.metric for gate in GATES}


def test_the_truth_of_a_launch_is_its_messages():
    """The ledger would compare with a truth that nobody sent."""
    kinds = [kind for kind, _, _ in LAUNCH.order()]
    assert len(kinds) == TRUTH.messages
    assert kinds.count("task-complete") == TRUTH.completes == TRUTH.task_runs - len(TRUTH.stuck)
    assert len(TRUTH.stuck) == 4


def test_payloads_are_hard_to_compress():
    """Megabytes would be written that are none: RocksDB compresses."""
    text = "".join(payload(1_000, number, 5) for number in range(200)).encode()
    assert len(zlib.compress(text)) > 0.74 * len(text)
    assert payload(1_000, 3, 5) == payload(1_000, 3, 5) != payload(1_000, 4, 5)


def test_truths_add_up():
    """Two launches, or state grown before, would be judged by one of them."""
    other = Launch(3, 1, "0badbeef", tasks=10, stuck_every=50)
    both = TRUTH + other.truth + Growth(2_000_000, 10_000, "0badf00d").truth
    assert both.messages == TRUTH.messages + other.truth.messages
    assert both.grown == 200


@pytest.mark.parametrize("values", [(0, 1), (1, -1)])
def test_a_launch_of_nothing_is_refused(values):
    """An empty launch would pass with nothing asked."""
    with pytest.raises(ValueError, match=r"launch|workflow"):
        Launch(*values)


def test_quantiles_are_within_their_buckets():
    """A latency would be told wrong by more than its bucket's 5 %."""
    counts = joined([{bucket_of(100): 98}, {bucket_of(2_000): 2}])
    assert quantile_ms(counts, 0.5) == pytest.approx(100, rel=0.03)
    assert quantile_ms(counts, 0.99) == pytest.approx(2_000, rel=0.03)
    assert quantile_ms({}, 0.5) is None


def _stats(messages, bytes_put):
    none = {"gets": 1, "puts": 1, "removes": 0, "scanned": 0, "ms": 1.0, "start_ms": {}, "complete_ms": {}}
    return {"messages": messages, "bytes_put": bytes_put, **none}


def test_a_batch_run_twice_counts_once(tmp_path):
    """After a crash the repeated batch would be counted as speed."""
    import json

    lines = [(0, 1_000, 10), (1, 2_000, 10), (2, 3_000, 10), (2, 6_000, 10), (3, 7_000, 10)]
    text = [
        json.dumps({"batch_id": number, "done_ms": done_ms, "stats": [_stats(count, 1_000_000)]})
        for number, done_ms, count in lines
    ]
    (tmp_path / "batches.jsonl").write_text("\n".join(text) + '\n{"batch_id": 4, "do')
    measured = measure(read_batches(tmp_path))
    assert measured.messages == 30
    assert measured.seconds == 6.0
    assert measured.mb_per_s == 0.5
    assert measured.pause_ms_max == 4_000


def test_too_little_is_not_measured(tmp_path):
    """One batch alone would give a rate out of nothing."""
    assert measure(read_batches(tmp_path)) is None
