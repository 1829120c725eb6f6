"""The ledger by sabotage: whatever is done to a correct run is counted, exactly and under its own name."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.contract.result import mock_result
from bench.ledger import EXAMPLES, Account, account_events, account_mock_rows
from bench.result_table import ResultRow, TableContent
from bench.seqset import SeqLedger

relaxed = settings(deadline=None)  # a busy machine is no finding

TOTAL = 60
NUM_KEYS = 7
START_MS = 1_700_000_000_000
LATE_AFTER_MS = 10_000
DELAY_US = 30_000
COLUMNS = ("key", "window_end_ms", "count", "sum_value", "seq", "producer_ts_ms", "db_insert_us")
FINDINGS = ("lost", "duplicates", "unexpected", "wrong", "late")


def flags(total: int = TOTAL, unacked: tuple[int, ...] = ()) -> np.ndarray:
    acked = np.ones(total + 1, np.bool_)
    acked[[0, *unacked]] = False
    return acked


def findings(account: Account) -> dict[str, int]:
    """What is not zero."""
    return {name: count for name in FINDINGS if (count := getattr(account, name))}


# -- case A -------------------------------------------------------------------------


def events_account(seqs: list[int], unacked: tuple[int, ...] = (), **counted: int) -> Account:
    ledger = SeqLedger(TOTAL)
    ledger.mark(np.array(seqs, np.int64))
    return account_events(
        ledger, flags(unacked=unacked), **{"foreign": 0, "late": 0, "redelivered": 0, **counted}
    )


def test_events_that_all_came_once_balance() -> None:
    """If this fails, a correct run of case A is not green."""
    account = events_account(list(range(TOTAL, 0, -1)))
    assert findings(account) == {}
    assert (account.expected, account.seen, account.examples) == (TOTAL, TOTAL, {})


def test_each_fault_of_an_event_has_its_own_count() -> None:
    """If this fails, a lost event is made up for by a doubled one."""
    seqs = [seq for seq in range(1, TOTAL + 1) if seq != 17] + [20, 20, TOTAL + 1, 0, -5]
    account = events_account(seqs, foreign=2, late=4, redelivered=9)
    assert findings(account) == {"lost": 1, "duplicates": 2, "unexpected": 3 + 2, "late": 4}
    assert account.redelivered == 9
    assert account.examples == {"lost": ["seq 17"], "duplicates": ["seq 20"]}


def test_an_event_that_was_never_acknowledged_is_not_lost() -> None:
    """If this fails, the pipeline is blamed for what JetStream never took."""
    seqs = [seq for seq in range(1, TOTAL + 1) if seq != 8]
    account = events_account(seqs, unacked=(8, 9))
    assert findings(account) == {}
    assert (account.expected, account.seen) == (TOTAL - 2, TOTAL - 1)


def test_redelivered_events_are_no_duplicates() -> None:
    """If this fails, JetStream's own promise (at least once) turns a run red."""
    assert findings(events_account(list(range(1, TOTAL + 1)), redelivered=500)) == {}


def test_examples_are_few() -> None:
    """If this fails, a run that lost a million events writes a million lines."""
    account = events_account([*[1, 2, 3, 4, 5, 6, 7] * 2])
    assert [len(account.examples[name]) for name in ("lost", "duplicates")] == [EXAMPLES, EXAMPLES]


@relaxed
@given(
    st.sets(st.integers(1, TOTAL)),
    st.lists(st.integers(1, TOTAL), max_size=20),
    st.lists(st.integers(TOTAL + 1, 10**9) | st.integers(-(10**9), 0), max_size=20),
    st.sets(st.integers(1, TOTAL)),
)
def test_any_mix_of_faults_of_events_is_counted_exactly(dropped, doubled, foreign, unacked) -> None:
    """If this fails, some combination of faults cancels out."""
    arrived = [seq for seq in range(1, TOTAL + 1) if seq not in dropped]
    again = [seq for seq in doubled if seq not in dropped]
    account = events_account(arrived + again + foreign, tuple(sorted(unacked)))
    assert account.lost == len(dropped - unacked)
    assert account.duplicates == len(again)
    assert account.unexpected == len(foreign)
    assert account.expected == TOTAL - len(unacked)


# -- case B -------------------------------------------------------------------------


def intended_ms() -> np.ndarray:
    return START_MS + 20 * (np.arange(TOTAL + 1, dtype=np.int64) - 1)


def good_rows() -> list[list]:
    rows = []
    for seq in range(1, TOTAL + 1):
        row = mock_result("run", seq, int(intended_ms()[seq]), NUM_KEYS)
        inserted_us = row.window_end_ms * 1000 + DELAY_US
        rows.append(
            [
                row.key,
                row.window_end_ms,
                row.count,
                row.sum_value,
                row.seq,
                row.producer_ts_ms,
                inserted_us,
            ]
        )
    return rows


def rows_account(rows: list[list], unacked: tuple[int, ...] = (), **counted: int) -> Account:
    as_read: list[ResultRow] = [tuple(row) for row in rows]
    return account_mock_rows(
        TableContent.of_rows(as_read),
        flags(unacked=unacked),
        intended_ms(),
        num_keys=NUM_KEYS,
        late_after_ms=LATE_AFTER_MS,
        **{"hidden_duplicates": 0, "malformed": 0, "redelivered": 0, **counted},
    )


def changed(seq: int, column: str, to) -> list[list]:
    rows = good_rows()
    rows[seq - 1][COLUMNS.index(column)] = to
    return rows


def test_rows_that_all_came_once_balance() -> None:
    """If this fails, a correct run of case B is not green."""
    account = rows_account(good_rows()[::-1])
    assert findings(account) == {}
    assert (account.expected, account.seen, account.examples) == (TOTAL, TOTAL, {})


def test_an_empty_table_has_lost_everything() -> None:
    """If this fails, a writer that wrote nothing leaves nothing to complain about, or a traceback."""
    assert findings(rows_account([])) == {"lost": TOTAL}


@pytest.mark.parametrize("seq", [1, 30, TOTAL])
@pytest.mark.parametrize(
    ("column", "to"),
    [
        ("key", "k999"),
        ("key", "K1"),
        ("key", ""),
        ("window_end_ms", START_MS - 1),
        ("window_end_ms", START_MS - 3_600_000),
        ("count", 0),
        ("count", 2),
        ("sum_value", 0),
        ("producer_ts_ms", START_MS - 1),
    ],
)
def test_a_changed_column_is_wrong_and_nothing_else(seq: int, column: str, to) -> None:
    """If this fails, a wrong value in TiDB goes unnoticed, or is called by another fault's name."""
    account = rows_account(changed(seq, column, to))
    assert findings(account) == {"wrong": 1}
    (example,) = account.examples["wrong"]
    assert f"seq {seq} " in example


@pytest.mark.parametrize("to", [0, -1, TOTAL + 1, 2**62, -(2**63)])
def test_a_row_with_a_seq_nobody_sent_is_unexpected_and_its_own_is_lost(to: int) -> None:
    """If this fails, a foreign row stands in for a missing one."""
    assert findings(rows_account(changed(30, "seq", to))) == {"lost": 1, "unexpected": 1}


def test_a_row_with_another_rows_seq_is_wrong_doubled_and_its_own_lost() -> None:
    """If this fails, one row can answer for two."""
    assert findings(rows_account(changed(30, "seq", 31))) == {"lost": 1, "duplicates": 1, "wrong": 1}


def test_a_deleted_row_is_lost() -> None:
    """If this fails, a missing row goes unnoticed because the count or the highest seq looks right."""
    rows = good_rows()
    del rows[TOTAL - 1], rows[4]
    account = rows_account(rows)
    assert findings(account) == {"lost": 2}
    assert account.examples["lost"] == ["seq 5", f"seq {TOTAL}"]


def test_a_row_that_is_there_twice_is_a_duplicate() -> None:
    """If this fails, a row under a second primary key goes unnoticed."""
    rows = good_rows()
    assert findings(rows_account([*rows, rows[3], rows[3]])) == {"duplicates": 2}


def test_what_the_upsert_hid_is_a_duplicate_and_a_redelivery_is_none() -> None:
    """If this fails, a doubled result is invisible in the table and so in the verdict."""
    assert findings(rows_account(good_rows(), hidden_duplicates=3, redelivered=50)) == {"duplicates": 3}


def test_messages_that_never_became_rows_are_unexpected() -> None:
    """If this fails, rubbish on the results stream is dropped without a word."""
    assert findings(rows_account(good_rows(), malformed=2)) == {"unexpected": 2}


def test_late_begins_after_the_deadline() -> None:
    """If this fails, a row of ten seconds ago passes for one of now, or one just in time does not."""
    deadline_us = int(intended_ms()[9]) * 1000 + LATE_AFTER_MS * 1000
    assert findings(rows_account(changed(9, "db_insert_us", deadline_us))) == {}
    assert findings(rows_account(changed(9, "db_insert_us", deadline_us + 1))) == {"late": 1}


def test_a_row_that_was_never_acknowledged_may_be_there_or_not() -> None:
    """If this fails, the writer is blamed for what JetStream never acknowledged."""
    rows = good_rows()
    del rows[7]
    account = rows_account(rows, unacked=(8, 9))
    assert findings(account) == {}
    assert (account.expected, account.seen) == (TOTAL - 2, TOTAL - 1)


SABOTAGE = st.sampled_from(["none", "drop", "double", "change", "late", "foreign"])


@relaxed
@given(
    st.lists(SABOTAGE, min_size=TOTAL, max_size=TOTAL),
    st.sets(st.integers(1, TOTAL)),
    st.sampled_from(["key", "window_end_ms", "count", "sum_value", "producer_ts_ms"]),
    st.randoms(use_true_random=False),
)
def test_any_mix_of_faults_of_rows_is_counted_exactly(done, unacked, column, rng) -> None:
    """If this fails, some combination of faults cancels out."""
    rows: list[list] = []
    for row, fault in zip(good_rows(), done, strict=True):
        if fault == "drop":
            continue
        if fault == "change":
            place = COLUMNS.index(column)
            row[place] = f"{row[place]}x" if column == "key" else row[place] + 1
        if fault == "late":
            row[-1] += LATE_AFTER_MS * 1000
        rows.append(row)
        if fault == "double":
            rows.append(row)
        if fault == "foreign":
            rows.append([*row[:4], row[4] + TOTAL, *row[5:]])
    rng.shuffle(rows)
    account = rows_account(rows, tuple(sorted(unacked)))
    count = {fault: done.count(fault) for fault in ("double", "change", "late", "foreign")}
    assert account.lost == sum(
        fault == "drop" and seq not in unacked for seq, fault in enumerate(done, start=1)
    )
    assert account.duplicates == count["double"]
    assert account.wrong == count["change"]
    assert account.late == count["late"]
    assert account.unexpected == count["foreign"]
    assert account.seen == len(rows)


def test_the_balance_names_every_fault() -> None:
    """If this fails, a kind of fault is counted and then not reported."""
    told = events_account([1]).as_dict()
    assert {field.name for field in fields(Account)} == set(told)
    assert {*FINDINGS, "redelivered", "expected", "seen"} < set(told)


def test_the_synthetic_rows_have_distinct_times() -> None:
    """If this fails, the rows above collide and the sabotage tests prove less than they say."""
    assert all(before < after for before, after in pairwise(intended_ms()[1:].tolist()))
