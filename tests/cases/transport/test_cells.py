"""JetStream itself: every cell's ledger is exact, and its rates stand beside those of `nats bench`."""

from __future__ import annotations

import pytest

from bench.driverbench.natscli import nats_binary
from bench.transport.cell import Cell
from bench.transport.run_cell import run_cell

pytestmark = pytest.mark.transport


#: How often ours and `nats bench` take turns. Streams are made anew for each, and who leads them matters:
#: with two rounds the ratios of synchronous cells were 0.90 to 1.35 from session to session.
PEER_ROUNDS = 4


@pytest.fixture(scope="session")
def peer_rounds(settings, cluster) -> int:
    """At smoke the CLI is not asked for: it would have to be built first."""
    if settings.profile.name == "smoke":
        return 0
    nats_binary()
    # The first cell on new servers is slow, whoever runs it.
    run_cell(cluster, Cell(mode="async", groups=2, messages=2_000), peer_rounds=1)
    return PEER_ROUNDS


def test_cell(cell, cluster, book, peer_rounds):
    """A message would be lost, doubled or out of order on its way, unseen behind a good rate."""
    outcome = run_cell(cluster, cell, peer_rounds)
    book.note(outcome)
    placed = outcome.placement["streams"][cell.stream(0)]
    assert placed["leader"] in cluster.nodes
    assert len(placed["replicas"]) == cell.replicas - 1
    outcome.report.raise_unless_pass()


def test_a_stream_that_forgets_turns_the_cell_red(cluster, cell_that_is_fast):
    """The ledger would pass subscribers that never saw what the stream had thrown away."""
    outcome = run_cell(cluster, cell_that_is_fast, max_msgs=1)
    assert outcome.report.verdict == "FAIL"
    violated = {violation.metric for violation in outcome.report.violations}
    assert "lost" in violated
    assert "stored_missing" in violated
