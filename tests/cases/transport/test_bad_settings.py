"""What JetStream will not do is told in one line that names it, not in a traceback or a hang."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.infra.errors import InfraError
from bench.transport.cell import Cell
from bench.transport.run_cell import run_cell
from bench.transport.streams import TransportAdmin
from bench.verdict import RunInvalid, Verdict

pytestmark = pytest.mark.transport


def test_three_replicas_on_one_server(nats_stack):
    """A user would get one copy where three were asked for, or a traceback."""
    with (
        TransportAdmin(nats_stack.nats.endpoint) as admin,
        pytest.raises(InfraError, match="replicas > 1 not supported in non-clustered mode") as told,
    ):
        admin.make("TRANSPORT", "transport.>", "file", 3)
    assert "\n" not in str(told.value)


def test_a_full_stream_that_discards_new_messages(cluster, cell_that_is_fast):
    """Publishers of a full stream would look slow or hang; what was refused must be told with the reason."""
    outcome = run_cell(cluster, cell_that_is_fast, max_msgs=100, discard="new")
    assert outcome.report.verdict is Verdict.FAIL
    assert "refused" in {violation.metric for violation in outcome.report.violations}
    assert outcome.metrics["acked"] == 100
    assert [why for why in outcome.refused if "maximum messages exceeded" in why]
    assert outcome.metrics["lost"] == 0, "what was acknowledged before the stream was full must be there"


def test_a_payload_over_the_servers_limit(cluster, cell_that_is_fast):
    """The server would cut the connection in the middle of the first message, and say nothing of its size."""
    with pytest.raises(RunInvalid, match=r"9000000 bytes: the server takes at most 8388608 \(max_payload\)"):
        run_cell(cluster, replace(cell_that_is_fast, size=9_000_000, messages=2))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("storage", "tape", "storage 'tape': choose one of memory, file"),
        ("mode", "slow", "mode 'slow': choose one of sync, async, batch"),
        ("layout", "two", "layout 'two': choose one of one, per-app"),
        ("consumers", "queue", "consumers 'queue': choose one of ordered, pull"),
    ],
)
def test_an_unknown_word_is_named(field, value, said):
    """A cell with a misspelt word would measure something else than asked for."""
    with pytest.raises(ValueError, match=said):
        Cell(**{field: value})
