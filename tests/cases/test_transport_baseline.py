"""Case A: what JetStream and the drivers do by themselves."""

from __future__ import annotations

import pytest

from bench.cases import case_a


@pytest.mark.caseA
def test_case_a(settings, nats_stack, run):
    """Events come out as they went in: all of them, once, in time, with bounded lag."""
    outcome = run(case_a(settings), nats_stack)
    outcome.raise_unless_pass()
