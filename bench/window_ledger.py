"""The account of a windowed aggregate: does what came out add up to what went in?

By either clock, counts and sums of every key over all windows must equal the closed form, and each
row must be consistent in itself. By the event clock every single row has a known truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.contract.event import VALUE_FACTOR, VALUE_OFFSET
from bench.contract.names import FLUSH_KEY
from bench.ledger import EXAMPLES, Account
from bench.result_table import TableContent
from bench.schedule import Ints
from bench.wire.frames import Flags


@dataclass(frozen=True)
class Truth:
    """What was sent: by seq, index 0 unused."""

    acked: Flags
    intended_ms: Ints
    num_keys: int
    window_ms: int
    #: Whether windows go by producer_ts_ms, so that each row's content is known.
    event_clock: bool
    late_after_ms: float


def account_windows(
    rows: TableContent, truth: Truth, *, hidden_duplicates: int, stray: int, redelivered: int
) -> Account:
    """`hidden_duplicates` are those an upsert made invisible; `stray` what was no row of this run."""
    index = _key_indices(rows.keys, truth.num_keys)
    flush = np.array([key == FLUSH_KEY for key in rows.keys], np.bool_)
    known = (index >= 0) & _in_range(rows.seq, len(truth.acked))
    first, doubled = _first_of_each(index, rows.window_end_ms, known)
    counts, sums = _totals(index[first], rows.count[first], rows.sum_value[first], truth.num_keys)
    expected_counts, expected_sums = _expected_totals(truth)
    consistent = _consistent(rows, index, truth, known)
    wrong_rows = known & ~consistent
    if truth.event_clock:
        wrong_rows |= first_flags(first, len(rows)) & ~_as_expected(rows, index, truth, known)
    wrong_keys = (counts == expected_counts) & (sums != expected_sums)
    latency_us = rows.db_insert_us - rows.window_end_ms * 1000
    account = Account(
        expected=int(np.count_nonzero(truth.acked)),
        seen=int(counts.sum()),
        lost=int(np.maximum(expected_counts - counts, 0).sum()),
        duplicates=int(np.maximum(counts - expected_counts, 0).sum()) + len(doubled) + hidden_duplicates,
        unexpected=int(np.count_nonzero(~known & ~flush)) + stray,
        wrong=max(int(np.count_nonzero(wrong_rows)), int(np.count_nonzero(wrong_keys))),
        late=int(np.count_nonzero(known & (latency_us > truth.late_after_ms * 1000))),
        redelivered=redelivered,
    )
    _note(account, "lost", np.flatnonzero(expected_counts > counts), counts, expected_counts)
    _note(account, "duplicates", np.flatnonzero(counts > expected_counts), counts, expected_counts)
    for what, places in (
        ("doubled rows", doubled),
        ("wrong", np.flatnonzero(wrong_rows)),
        ("unexpected", np.flatnonzero(~known & ~flush)),
    ):
        if len(places):
            account.examples[what] = [_told(rows, int(i)) for i in places[:EXAMPLES]]
    return account


def _key_indices(keys: list[str], num_keys: int) -> Ints:
    """The number in `k<number>`, or -1 for what is no key of this run."""
    indices = np.full(len(keys), -1, np.int64)
    for place, key in enumerate(keys):
        digits = key[1:]
        if key[:1] == "k" and digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0"):
            number = int(digits) if len(digits) < 12 else num_keys
            if number < num_keys:
                indices[place] = number
    return indices


def _in_range(seq: Ints, length: int) -> Flags:
    flags: Flags = (seq >= 1) & (seq < length)
    return flags


def _first_of_each(index: Ints, window_end_ms: Ints, known: Flags) -> tuple[Ints, Ints]:
    """Places of the first row of each (key, window), and of the further ones."""
    places = np.flatnonzero(known)
    pairs = np.stack([index[places], window_end_ms[places]], axis=1)
    if not len(places):
        return places, places
    _, first = np.unique(pairs, axis=0, return_index=True)
    others = np.ones(len(places), np.bool_)
    others[first] = False
    return places[np.sort(first)], places[others]


def first_flags(places: Ints, length: int) -> Flags:
    flags = np.zeros(length, np.bool_)
    flags[places] = True
    return flags


def _totals(index: Ints, count: Ints, sum_value: Ints, num_keys: int) -> tuple[Ints, Ints]:
    counts, sums = np.zeros(num_keys, np.int64), np.zeros(num_keys, np.int64)
    np.add.at(counts, index, count)
    np.add.at(sums, index, sum_value)
    return counts, sums


def _expected_totals(truth: Truth) -> tuple[Ints, Ints]:
    """Over the acknowledged events only: one that JetStream refused is nobody's loss."""
    seqs = np.flatnonzero(truth.acked)
    return _totals(
        seqs % truth.num_keys,
        np.ones(len(seqs), np.int64),
        VALUE_FACTOR * seqs + VALUE_OFFSET,
        truth.num_keys,
    )


def _consistent(rows: TableContent, index: Ints, truth: Truth, known: Flags) -> Flags:
    """A row's seq must be one of its key's, its producer time that of this seq, its window a window."""
    seq = np.where(known, rows.seq, 0)
    flags: Flags = (
        (seq % truth.num_keys == index)
        & (rows.producer_ts_ms == truth.intended_ms[seq])
        & (rows.window_end_ms % truth.window_ms == 0)
        & (rows.count >= 1)
    )
    return flags


def _as_expected(rows: TableContent, index: Ints, truth: Truth, known: Flags) -> Flags:
    """Each row against the closed form of its own (key, window)."""
    seqs = np.flatnonzero(truth.acked)
    ends = (truth.intended_ms[seqs] // truth.window_ms + 1) * truth.window_ms
    base = int(ends.min()) if len(ends) else 0
    code = (ends - base) // truth.window_ms * truth.num_keys + seqs % truth.num_keys
    size = int(code.max()) + 1 if len(code) else 0
    counts, sums = np.zeros(size, np.int64), np.zeros(size, np.int64)
    last = np.zeros(size, np.int64)
    np.add.at(counts, code, 1)
    np.add.at(sums, code, VALUE_FACTOR * seqs + VALUE_OFFSET)
    np.maximum.at(last, code, seqs)
    row_code = (rows.window_end_ms - base) // truth.window_ms * truth.num_keys + index
    inside = known & (row_code >= 0) & (row_code < size)
    place = np.where(inside, row_code, 0)
    if not size:
        return inside
    flags: Flags = (
        inside & (rows.count == counts[place]) & (rows.sum_value == sums[place]) & (rows.seq == last[place])
    )
    return flags


def _note(account: Account, what: str, keys: Ints, got: Ints, expected: Ints) -> None:
    if len(keys):
        account.examples[what] = [
            f"key k{key}: {got[key]} events of {expected[key]}" for key in keys[:EXAMPLES]
        ]


def _told(rows: TableContent, i: int) -> str:
    return (
        f"key {rows.keys[i]} window_end_ms {rows.window_end_ms[i]} count {rows.count[i]} "
        f"sum_value {rows.sum_value[i]} seq {rows.seq[i]} producer_ts_ms {rows.producer_ts_ms[i]}"
    )
