"""What became of everything that was sent: lost, duplicate, late, unexpected, wrong, each apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np

from bench.contract.event import VALUE_FACTOR, VALUE_OFFSET
from bench.result_table import TableContent
from bench.schedule import Ints
from bench.seqset import SeqLedger
from bench.wire.frames import Flags

EXAMPLES = 5


@dataclass
class Account:
    """The balance of a run."""

    expected: int
    seen: int
    lost: int = 0
    duplicates: int = 0
    unexpected: int = 0
    wrong: int = 0
    late: int = 0
    #: Deliveries that JetStream repeated because an ack was missing: its promise, not a defect.
    redelivered: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def account_events(ledger: SeqLedger, acked: Flags, *, foreign: int, late: int, redelivered: int) -> Account:
    """Case A: every acknowledged seq seen exactly once.

    An event that JetStream did not acknowledge may be there or not: it is not counted as lost.
    """
    sent = np.flatnonzero(acked)
    arrived = ledger.seen_before(sent)
    missing = sent[~arrived]
    account = Account(
        expected=len(sent),
        seen=ledger.seen,
        lost=len(missing),
        duplicates=ledger.duplicates,
        unexpected=ledger.unexpected + foreign,
        late=late,
        redelivered=redelivered,
    )
    if len(missing):
        account.examples["lost"] = [f"seq {seq}" for seq in missing[:EXAMPLES]]
    if ledger.duplicates:
        account.examples["duplicates"] = [f"seq {seq}" for seq in ledger.duplicate_examples(EXAMPLES)]
    return account


def account_mock_rows(
    table: TableContent,
    acked: Flags,
    intended_ms: Ints,
    *,
    num_keys: int,
    hidden_duplicates: int,
    malformed: int,
    late_after_ms: float,
    redelivered: int,
) -> Account:
    """Case B: every acknowledged row in the table once, with exactly the values that were sent.

    `acked` and `intended_ms` are by seq (index 0 unused); `hidden_duplicates` are those the writer
    noticed and the upsert then made invisible.
    """
    known = (table.seq >= 1) & (table.seq < len(acked))
    seq = np.where(known, table.seq, 0)
    keys = np.array([f"k{index}" for index in (seq % num_keys).tolist()], dtype=object)
    same = (
        known
        & (np.array(table.keys, dtype=object) == keys)
        & (table.window_end_ms == intended_ms[seq])
        & (table.producer_ts_ms == intended_ms[seq])
        & (table.count == 1)
        & (table.sum_value == VALUE_FACTOR * seq + VALUE_OFFSET)
    )
    present = np.zeros(len(acked), np.bool_)
    present[seq[known]] = True
    present[0] = False
    missing = np.flatnonzero(acked & ~present)
    repeated = int(np.count_nonzero(known)) - int(np.count_nonzero(present))
    latency_us = table.db_insert_us - intended_ms[seq] * 1000
    account = Account(
        expected=int(np.count_nonzero(acked)),
        seen=len(table),
        lost=len(missing),
        duplicates=hidden_duplicates + repeated,
        unexpected=int(np.count_nonzero(~known)) + malformed,
        wrong=int(np.count_nonzero(known & ~same)),
        late=int(np.count_nonzero(known & (latency_us > late_after_ms * 1000))),
        redelivered=redelivered,
    )
    _note_rows(account, table, "wrong", known & ~same)
    _note_rows(account, table, "unexpected", ~known)
    if len(missing):
        account.examples["lost"] = [f"seq {seq}" for seq in missing[:EXAMPLES]]
    return account


def _note_rows(account: Account, table: TableContent, what: str, rows: Flags) -> None:
    places = np.flatnonzero(rows)[:EXAMPLES]
    if len(places):
        account.examples[what] = [
            f"key {table.keys[i]} window_end_ms {table.window_end_ms[i]} seq {table.seq[i]} "
            f"count {table.count[i]} sum_value {table.sum_value[i]}"
            for i in places.tolist()
        ]
