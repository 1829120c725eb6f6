"""The joins suite's ledger, gates and figures, on doctored rows: each fault turns red, for its own reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.joins.batches import BatchLine, batch_figures, batch_lines, live_per_s
from bench.joins.case import Alerts, JoinCase
from bench.joins.joined import Joined, _decoder, nothing_joined
from bench.joins.ledger import due_epoch_ns, intended_epoch_ns, settle
from bench.joins.outcome import Sample, Seen, closing_state, judge
from bench.joins.publishing import Published
from bench.joins.recovery import recovery_of
from bench.joins.scenarios import Size, enrichment, iot, multi_stream
from bench.joins.truth import truth_of
from bench.verdict import RunFailed, RunInvalid, Verdict

SIZE = Size(facts=2_000, keys=100, spread=64, facts_per_s=1_000)
START_NS = 1_700_000_000_000_000_000
PER_S = 1_000
WORKLOADS = {"enrichment": enrichment(SIZE), "multi-stream": multi_stream(SIZE), "iot": iot(SIZE)}


def right_rows(workload, delay_s=0.5):
    truth = truth_of(workload)
    due = due_epoch_ns(workload, truth, START_NS, PER_S)
    kept = truth.emitted
    return Joined(
        truth.index[kept] + 1, truth.matches[kept], truth.totals[kept], due[kept] + int(delay_s * 1e9)
    )


def changed(joined, **columns):
    fields = {name: getattr(joined, name).copy() for name in ("numbers", "matches", "totals", "stored_ns")}
    for name, change in columns.items():
        change(fields[name])
    return Joined(**fields)


def taken(joined, which):
    return Joined(joined.numbers[which], joined.matches[which], joined.totals[which], joined.stored_ns[which])


def account_of(workload, joined, late_after_s=60.0):
    due = due_epoch_ns(workload, truth_of(workload), START_NS, PER_S)
    return settle(workload, joined, due, late_after_s)


def faults_of(account):
    names = ("missing", "duplicates", "wrong", "unexpected", "late")
    return {name: getattr(account, name) for name in names if getattr(account, name)}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_right_join_is_exact(name):
    """Every run would be red."""
    account = account_of(WORKLOADS[name], right_rows(WORKLOADS[name]))
    assert faults_of(account) == {}
    assert account.exact
    assert account.hits == account.expected_hits > 0
    assert account.seen == account.expected


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_fault_is_counted_by_its_own_name(name):
    """A lost row would pass for a late one, a wrong match for none."""
    workload = WORKLOADS[name]
    rows = right_rows(workload)
    every = np.arange(len(rows))
    met = int(np.flatnonzero(rows.matches[:, 0] > 0)[3])

    def other_match(matches):
        matches[met, 0] += 1

    def no_match(matches):
        matches[met, 0] = 0

    def other_total(totals):
        totals[met] += 1

    def late_by_a_day(stored):
        stored[5] += 86_400 * 10**9

    def nobody(numbers):
        numbers[7] = 0

    assert faults_of(account_of(workload, taken(rows, every[1:]))) == {"missing": 1}
    assert faults_of(account_of(workload, taken(rows, np.append(every, 9)))) == {"duplicates": 1}
    for wrong in ({"matches": other_match}, {"matches": no_match}, {"totals": other_total}):
        account = account_of(workload, changed(rows, **wrong))
        assert faults_of(account) == {"wrong": 1}
        assert account.first_wrong == rows.numbers[met]
    assert faults_of(account_of(workload, changed(rows, stored_ns=late_by_a_day))) == {"late": 1}
    assert faults_of(account_of(workload, changed(rows, numbers=nobody))) == {"missing": 1, "unexpected": 1}


def test_a_row_that_must_not_come_is_unexpected():
    """A smart join that emits incomplete rows would be taken for a good one."""
    workload = WORKLOADS["multi-stream"]
    rows = right_rows(workload)
    truth = truth_of(workload)
    hidden = int(np.flatnonzero(~truth.emitted)[0])
    extra = Joined(
        np.append(rows.numbers, hidden + 1),
        np.vstack([rows.matches, truth.matches[hidden]]),
        np.append(rows.totals, truth.totals[hidden]),
        np.append(rows.stored_ns, rows.stored_ns[-1]),
    )
    assert faults_of(account_of(workload, extra)) == {"unexpected": 1}


def test_closing_rows_are_none_of_the_ledgers():
    """Rows that only end a topic would be counted as too many, where they come out."""
    workload = WORKLOADS["iot"]
    rows = right_rows(workload)
    for number, said in ((workload.facts + 2, {}), (workload.facts + 3, {"unexpected": 1})):
        more = Joined(
            np.append(rows.numbers, number),
            np.vstack([rows.matches, [0]]),
            np.append(rows.totals, 0),
            np.append(rows.stored_ns, rows.stored_ns[-1]),
        )
        assert faults_of(account_of(workload, more)) == said


def test_nothing_joined_is_everything_missing():
    """A join that never ran would pass."""
    workload = WORKLOADS["enrichment"]
    account = account_of(workload, nothing_joined(1))
    assert faults_of(account) == {"missing": workload.facts}
    assert account.first_missing == 1


def test_rows_that_are_not_ours_are_read_as_such():
    """A foreign message would stop the ledger, or be taken for a fact."""
    decode = _decoder(2)
    assert decode(b'{"seq":5,"total":9,"m1":7}') == (5, 9, 0, 7)
    for payload in (b"junk", b"{}", b'{"seq":"5","total":1}', b"\xff", b'{"seq":5,"total":9,"m0":1.5}'):
        assert decode(payload) == (0, 0, 0, 0)


def line(batch_id=0, rows=1_000, emitted=0, state_rows=0, **more):
    fields = {"state_bytes": 0, "state_updated": 0, "state_removed": 0, "state_ms": 0, "late_dropped": 0}
    at_ns = START_NS + batch_id * 1_250_000_000
    return BatchLine(batch_id, at_ns, rows, 500, 400, emitted, state_rows, **(fields | more))


def seen_of(workload, joined=None, lines=None, **published):
    joined = right_rows(workload) if joined is None else joined
    fields = {
        "rows": workload.facts,
        "sent": workload.facts,
        "acked": workload.facts,
        "refused": 0,
        "republished": 0,
        "slip_ms_p99": 1.0,
        "start_epoch_ns": START_NS,
        "facts_per_s": PER_S,
        "elapsed_s": 2.0,
    }
    lines = [line(0), line(1, emitted=len(joined))] if lines is None else lines
    samples = [Sample(1.0, 10, 10, 500_000_000)]
    return Seen(joined, lines, samples, Published(**(fields | published)), 2.5, 1.0)


CASE = JoinCase("x", WORKLOADS["enrichment"], 1_000, alerts=Alerts(1_000.0, 500.0, 0.9))


def test_a_good_run_passes_and_tells_its_figures():
    """The verdict would be another than what was seen."""
    outcome = judge(CASE, seen_of(CASE.workload), 2)
    assert outcome.report.verdict is Verdict.PASS
    assert outcome.metrics["latency_ms_p99"] == pytest.approx(500, rel=0.01)
    assert outcome.metrics["events_per_s"] == pytest.approx(1_000 / 1.25)
    assert outcome.metrics["memory_bytes_max"] == 500_000_000
    assert outcome.metrics["join_rate"] == outcome.metrics["expected_rate"]


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        (Alerts(high_latency_ms=400.0), "HighLatency"),
        (Alerts(low_throughput_per_s=900.0), "LowThroughput"),
        (Alerts(low_join_rate=0.99), "LowJoinRate"),
    ],
)
def test_each_alert_turns_the_case_red(alerts, said):
    """Somebody would sleep through it."""
    outcome = judge(replace(CASE, alerts=alerts), seen_of(CASE.workload), 2)
    with pytest.raises(RunFailed, match=said):
        outcome.report.raise_unless_pass()


def test_an_alert_on_what_was_not_measured_is_invalid():
    """No latency at all would be a good latency."""
    case = replace(CASE, warmup_s=1e6)
    with pytest.raises(RunInvalid, match="latency_ms_p99"):
        judge(case, seen_of(CASE.workload), 2).report.raise_unless_pass()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"lines": [line(1, emitted=2_001)]}, "emitted_twice"),
        ({"lines": [line(1, late_dropped=1)]}, "late_dropped"),
    ],
)
def test_what_the_broker_hides_is_seen(more, said):
    """A join that emits rows twice would be saved by the broker's deduplication."""
    with pytest.raises(RunFailed, match=said):
        judge(CASE, seen_of(CASE.workload, **more), 2).report.raise_unless_pass()


def test_a_state_that_keeps_what_has_expired_is_seen():
    """Memory would grow for ever, and every row be right."""
    workload = WORKLOADS["iot"]
    case = JoinCase("x", workload, 1_000)
    allowed = closing_state(workload)
    for left, verdict in ((allowed, Verdict.PASS), (allowed + 1, Verdict.FAIL)):
        outcome = judge(case, seen_of(workload, lines=[line(0, state_rows=left)]), 2)
        assert outcome.report.verdict is verdict


@pytest.mark.parametrize("published", [{"acked": 1_999}, {"republished": 1}, {"slip_ms_p99": 1e6}])
def test_a_generator_that_falls_short_makes_it_invalid(published):
    """The join would be blamed for what was not published, or too late."""
    with pytest.raises(RunInvalid):
        judge(CASE, seen_of(CASE.workload, **published), 2).report.raise_unless_pass()


def progress(batch_id, **more):
    return {
        "batchId": batch_id,
        "at_ns": START_NS,
        "numInputRows": 100,
        "durationMs": {"triggerExecution": 50, "addBatch": 40},
        "observedMetrics": {"emitted": {"rows": 90}},
        "stateOperators": [
            {"numRowsTotal": 5, "numRowsUpdated": 10, "numRowsRemoved": 2, "allUpdatesTimeMs": 3},
            {"numRowsTotal": 6, "memoryUsedBytes": 7, "customMetrics": {"rocksdbBlockCacheUsage": 9}},
        ],
        **more,
    }


def test_batches_are_summed_over_operators_and_counted_once():
    """A join of three streams would tell the state of one of them; a batch told again would count twice."""
    lines = batch_lines([progress(0), progress(1), progress(1)])
    assert [one.batch_id for one in lines] == [0, 1]
    figures = batch_figures(lines)
    assert (figures["state_rows_max"], figures["evictions"], figures["emitted"]) == (11, 4, 180)
    assert (figures["cache_bytes_max"], figures["state_bytes_max"]) == (9, 7)
    assert figures["lookup_us"] == pytest.approx(300.0)
    assert figures["batch_rows_per_s"] == pytest.approx(2_000)
    assert batch_figures([])["batch_rows_per_s"] is None


def test_a_live_rate_does_not_hang_on_how_the_rows_fell_into_batches():
    """A slow start that puts nearly all rows into the first batch would look like a join at a standstill."""
    begin_ns = START_NS - 1_000_000_000
    assert live_per_s([line(0, 600), line(1, 1_000), line(2, 0)], begin_ns) == pytest.approx(1_000 / 1.25)
    assert live_per_s([line(0, 8_249), line(1, 14), line(2, 0)], begin_ns) == pytest.approx(8_263 / 2.25)
    assert live_per_s([line(0, 1_000)], begin_ns) == pytest.approx(1_000)
    assert live_per_s([line(0, 0)], begin_ns) is None


def test_a_batch_without_state_or_rows_is_told_too():
    """A join without state would have no figures at all."""
    told = batch_lines([progress(0, stateOperators=[], observedMetrics={}, numInputRows=0, durationMs={})])
    assert (told[0].state_rows, told[0].emitted, told[0].cache_bytes) == (0, 0, None)


def test_recovery_is_from_the_kill_to_rows_as_prompt_as_before():
    """The time to recover would end with the first row, however far behind it is."""
    facts = 20_000
    numbers = np.arange(1, facts + 1)
    due = intended_epoch_ns(numbers - 1, START_NS, 1_000)
    killed = START_NS + 8 * 10**9
    # Half a second behind; nothing from second 8 to 12; then what gathered, twice as fast as it comes.
    stored = due + 500_000_000
    behind = stored > killed
    catching = killed + 4 * 10**9 + np.arange(behind.sum()) * 500_000
    stored[behind] = np.maximum(stored[behind], catching)
    joined = Joined(numbers, np.zeros((facts, 1), np.int64), numbers, stored)
    told = recovery_of(joined, due, killed, facts)
    assert told.silent_s == pytest.approx(4.0, abs=0.01)
    # Then 4.5 s behind, and a second less every second: below a second 3.5 s later.
    assert told.caught_up_s == pytest.approx(7.5, abs=0.01)
    assert told.delay_ms_p99_before == pytest.approx(500)
    assert told.joined_before + told.joined_after == facts
    assert recovery_of(joined, due, killed + 10**12, facts).silent_s is None
