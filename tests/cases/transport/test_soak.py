"""The soak: a constant low rate for as long as asked for, and nothing drifts."""

from __future__ import annotations

import pytest

from bench.transport.soak import run_soak, soak_cell

pytestmark = [pytest.mark.transport, pytest.mark.soak]

#: Seconds by profile, unless --duration says otherwise.
DURATIONS_S = {"smoke": 12, "short": 60, "standard": 300, "soak": 12 * 3600}
#: Below this the quarters are too short to be compared strictly.
STRICT_FROM_S = 300


def test_soak(settings, cluster, book, show):
    """Latency, memory or disk would creep up over hours, and every short run would still be green."""
    duration_s = settings.duration_s or DURATIONS_S[settings.profile.name]
    cell = soak_cell(duration_s, settings.rate_per_s or 50)
    folder = book.folder / "soak"
    result = run_soak(cluster, cell, duration_s, folder, show, wide=duration_s < STRICT_FROM_S)
    book.soaks.append(result)
    result.report.raise_unless_pass()
    assert result.complete
    assert (folder / "soak.jsonl").read_text().count("\n") == result.metrics["samples"]
