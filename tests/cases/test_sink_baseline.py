"""Case B: what JetStream, the writer and TiDB do without an engine."""

from __future__ import annotations

import pytest

from bench.cases import case_b


@pytest.mark.caseB
def test_case_b(settings, full_stack, run):
    """Every mock row is in TiDB, once, with its values, in time, with bounded lag."""
    outcome = run(case_b(settings), full_stack)
    outcome.raise_unless_pass()
