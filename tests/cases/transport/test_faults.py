"""A server of the cluster dies or freezes under load, and no acknowledged message is lost."""

from __future__ import annotations

import pytest

from bench.transport.faults import FAULTS, run_fault

pytestmark = [pytest.mark.transport, pytest.mark.recovery]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_no_acked_message_is_lost(fault, cluster, book, show):
    """With three replicas a crash or a freeze of one server must cost no acknowledged message."""
    outcome = run_fault(cluster, fault, show)
    book.note(outcome)
    outcome.report.raise_unless_pass()
    if fault.target == "leader":
        assert outcome.metrics["publish_stall_ms"] > 100, "a leader that is gone must show as a gap"
