"""How much of an engine survives its source: the bare reader, the engine over files, and through it."""

from __future__ import annotations

import pytest

from bench.source.outcome import run_case
from bench.source.turn import PIPELINES

pytestmark = pytest.mark.source


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("engine", ["spark", "bento"])
def test_what_is_left(engine, pipeline, events, backlogs, broker, book, rounds, show, request):
    """A source would lose events, or at full size most of the engine's speed, and nobody would see it."""
    backlog = backlogs.of(events, files=True)
    outcome = run_case(request.getfixturevalue(engine), broker, backlog, pipeline, rounds, show)
    book.manifest.setdefault("engines", {})[engine] = request.getfixturevalue(engine).settings()
    book.note(outcome)
    assert outcome.metrics["efficiency"] > 0
    outcome.report.raise_unless_pass()
