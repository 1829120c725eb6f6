"""The table of engines: what each runs, and what is said where one is not at hand."""

from __future__ import annotations

import pytest

from bench.contract.names import CASES, VARIANTS
from bench.engine import at_hand
from bench.engine.registry import ENGINES, EngineOptions, not_run, of_case
from bench.infra.errors import InfraError

NO_DOCKER = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
URLS = {
    "JETLAG_ARROYO_URL": "http://localhost:5115",
    "JETLAG_RISINGWAVE_URL": "postgres://localhost:4566/dev",
}


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_hand, "_problems", {})


def test_every_engine_is_a_variant_and_every_variant_an_engine() -> None:
    """An engine without its name in the contract fails at its first result, minutes into a run."""
    assert {*ENGINES, "mock"} == set(VARIANTS)
    assert all(set(row.cases) <= set(CASES) for row in ENGINES.values())


@pytest.mark.parametrize("variant", sorted(ENGINES))
def test_the_row_says_what_the_engine_says(variant: str) -> None:
    """A clock that only the table promises would be asked of an engine that cannot honour it."""
    row = ENGINES[variant]
    engine = row.make(EngineOptions(environ={**NO_DOCKER, **URLS}))
    assert engine.variant == variant
    assert engine.window_clocks == row.window_clocks
    assert engine.needs_flush == (variant in ("arroyo", "rw"))
    engine.stop()


def test_the_matrix_is_the_roadmap_s_and_bento() -> None:
    """A row of the roadmap's matrix would be forgotten in silence."""
    assert {case: of_case(case) for case in "CDEF"} == {
        "C": ["spark", "bento", "arroyo", "rw"],
        "D": ["spark", "bento", "arroyo", "rw"],
        "E": ["spark", "arroyo"],
        "F": ["spark", "rw"],
    }


def test_what_is_not_at_hand_is_told_with_the_command_that_gets_it() -> None:
    """A user who asks for Arroyo would be told that something is missing, and not what to type."""
    rows = {(row.case, row.variant): row.reason for row in not_run(EngineOptions(environ=NO_DOCKER))}
    missing = [("C", "arroyo"), ("C", "rw"), ("D", "arroyo"), ("D", "rw"), ("E", "arroyo"), ("F", "rw")]
    assert list(rows) == missing
    reason = rows["C", "rw"]
    assert "no Docker engine answers at unix:///nowhere/docker.sock" in reason
    assert "`docker pull risingwavelabs/risingwave:v3.0.3`" in reason
    assert "\n" not in reason
    own = not_run(EngineOptions(image="my/arroyo:1", environ=NO_DOCKER), ("arroyo",))
    assert all("`docker pull my/arroyo:1`" in row.reason for row in own)


def test_a_clock_that_an_engine_does_not_have_is_told_too() -> None:
    """With --window-clock event, Bento would be missing from the matrix without a word."""
    rows = not_run(EngineOptions(environ={**NO_DOCKER, **URLS}), clock="event")
    assert [(row.case, row.variant) for row in rows] == [("C", "bento"), ("D", "bento")]
    assert rows[0].reason == "bento closes windows by processing time, not event"


def test_an_engine_that_the_user_runs_is_at_hand() -> None:
    """Somebody without Docker could not use the Arroyo that runs beside them."""
    assert not_run(EngineOptions(environ={**NO_DOCKER, **URLS})) == []


def test_a_remote_engine_needs_consent() -> None:
    """Load would go to somebody else's machine because of a variable that was left set."""
    environ = {"JETLAG_ARROYO_URL": "http://arroyo.example:5115"}
    with pytest.raises(InfraError, match="--allow-remote-target"):
        ENGINES["arroyo"].make(EngineOptions(environ=environ))
    ENGINES["arroyo"].make(EngineOptions(environ=environ, allow_remote_target=True))


@pytest.mark.parametrize(
    ("variant", "case", "clock", "wanted"),
    [
        ("bento", "F", None, "bento runs the cases C, D, not F"),
        ("arroyo", "C", "processing", "arroyo closes windows by ingest or event time, not processing"),
        ("arroyo", "C", None, None),
        ("spark", "F", "event", None),
    ],
)
def test_an_engine_refuses_what_it_cannot_do(variant, case, clock, wanted) -> None:
    """The report would pretend that an engine ran by a clock that it does not have."""
    assert ENGINES[variant].refusal(case, clock) == wanted
