"""kill -9 in the middle of a join: it goes on from its checkpoint, and the ledger stays exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.joins.run import Kill, run_case
from bench.joins.scenarios import SCENARIOS

pytestmark = pytest.mark.joins

#: Micro-batches of the case: one of them is cut off in the middle.
BATCHES = 5


@pytest.mark.recovery
def test_recovery(warmed, spark, streams, sizes, book, show):
    """A join that is killed would forget what it had in its state, or join it twice."""
    rate = sizes.rows_per_s // 2
    case = sizes.live("recovery, multi-stream", SCENARIOS["multi-stream"], rate, sizes.recovery_s)
    case = replace(case, batch_rows=0 if sizes.full else int(rate * sizes.recovery_s) // BATCHES)
    warmed(SCENARIOS["multi-stream"])
    outcome = book.note(run_case(spark, streams, case, show, Kill()))
    assert outcome.account.exact, outcome.account
    recovery = outcome.recovery
    assert recovery is not None
    assert recovery.joined_before > 0, "killed before anything was joined"
    assert recovery.joined_after > 0, "killed after everything was joined"
    assert recovery.silent_s > 0
    if not sizes.full:
        outcome.report.raise_unless_pass()
    else:
        assert recovery.caught_up_s is not None, "the join never was as prompt again as before the kill"
