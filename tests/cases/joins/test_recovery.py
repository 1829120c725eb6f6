"""kill -9 in the middle of a join: it goes on from its checkpoint, and the ledger stays exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.joins.run import Kill, run_case
from bench.joins.scenarios import SCENARIOS

pytestmark = pytest.mark.joins


@pytest.mark.recovery
@pytest.mark.parametrize("scenario", ["multi-stream"])
def test_recovery(scenario, spark, streams, sizes, book, show):
    """A join that is killed would forget what it had in its state, or join it twice."""
    rate = sizes.rows_per_s // (1 if sizes.full else 2)
    case = sizes.live(f"recovery, {scenario}", SCENARIOS[scenario], rate, sizes.recovery_s)
    case = replace(
        case, batch_rows=max(600, case.rows_per_s // 2)
    )  # many micro-batches: one of them is cut off
    outcome = book.note(run_case(spark, streams, case, show, Kill()))
    assert outcome.account.exact, outcome.account
    outcome.report.raise_unless_pass()
    recovery = outcome.recovery
    assert recovery is not None
    assert recovery.joined_before > 0, "killed before anything was joined"
    assert recovery.joined_after > 0, "killed after everything was joined"
    assert recovery.silent_s > 0
