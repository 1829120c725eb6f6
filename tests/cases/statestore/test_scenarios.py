"""The three scenarios, restores, and settings beside each other; measured, so not in CI."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.statestore.load import Launch
from bench.statestore.restore import Cut, RestoreTurns
from bench.statestore.scenario import Scenario, run_scenario
from bench.statestore.settings import ServerSettings
from bench.statestore.tuning import TRIED, tuned

pytestmark = [pytest.mark.statestore, pytest.mark.bench]

SERVER = ServerSettings(timeout_ms=20_000)
FULL = (
    Scenario("fresh start, small tasks", 500, 100, paced_s=20, server=SERVER),
    Scenario("fresh start, large tasks", 300, 10_000, paced_s=20, server=SERVER),
    Scenario("fresh start, 100 KB tasks", 30, 100_000, server=replace(SERVER, max_messages=500)),
    Scenario("large state, small tasks", 500, 100, grow_mb=2_000, paced_s=20, server=SERVER),
)
TUNED = Scenario("", 150, 10_000, server=replace(SERVER, max_messages=2_000, timeout_ms=6_000))
NO_CHANGELOG = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}
CUTS = {
    "size": (
        Cut(state_mb=1),
        Cut(state_mb=100),
        Cut(state_mb=400),
        Cut(state_mb=800),
        Cut(state_mb=400, conf=NO_CHANGELOG, note="no changelog"),
    ),
    "partitions": (
        Cut(state_mb=100),
        Cut(partitions=4, state_mb=100),
        Cut(partitions=16, state_mb=100),
    ),
    "stores": (
        Cut("one", state_mb=20, with_work=True),
        Cut("variables", state_mb=20, with_work=True),
        Cut("operators", state_mb=20, with_work=True),
    ),
}


def smaller(scenario: Scenario) -> Scenario:
    """The same code in seconds."""
    server = replace(scenario.server, timeout_ms=3_000, max_messages=min(scenario.server.max_messages, 1_000))
    grow_mb, paced_s = min(scenario.grow_mb, 20), min(scenario.paced_s, 3)
    return replace(scenario, workflows=20, grow_mb=grow_mb, paced_s=paced_s, server=server)


@pytest.mark.parametrize("scenario", FULL, ids=lambda one: one.name.replace(", ", "-").replace(" ", "-"))
def test_a_scenario(scenario, nats_stack, tmp_path, book, full, show):
    """Nobody would know how much the store takes, how long a task waits, how long all stands still."""
    wanted = scenario if full else smaller(scenario)
    outcome = run_scenario(nats_stack.nats.endpoint, wanted, tmp_path / "run", show)
    book.note(outcome)
    outcome.report.raise_unless_pass()
    assert outcome.measured is not None
    assert outcome.measured.mb_per_s > 0
    assert (outcome.paced is not None) == bool(wanted.paced_s)


@pytest.mark.parametrize("by", CUTS)
def test_restores(by, nats_stack, book, full, show):
    """Nobody would know what many small partitions, or one store instead of two dozen, are good for."""
    cuts = CUTS[by] if full else [replace(cut, state_mb=min(cut.state_mb, 3)) for cut in CUTS[by][-1:]]
    launch = Launch(30 if full else 4, 1_000)
    with RestoreTurns(nats_stack.nats.endpoint, launch) as turns:
        for cut in cuts:
            row = turns.measure(cut, 2 if full else 1)
            show(f"statestore: {cut.stores} x {cut.partitions}, {cut.state_mb} MB: {row.restore_s:.2f} s")
            book.restores.append(row)
            book.write()
            assert row.state_bytes > cut.state_mb * 1_000_000
            assert row.first_s > 0


@pytest.mark.parametrize("name", TRIED)
def test_a_setting(name, nats_stack, tmp_path, book, full, show):
    """A setting would be chosen by what somebody has read."""
    scenario = replace(TUNED, name=name, server=replace(TUNED.server, **TRIED[name]))
    wanted = scenario if full else smaller(scenario)
    outcome = run_scenario(nats_stack.nats.endpoint, wanted, tmp_path / "run", show)
    outcome.report.raise_unless_pass()
    book.tuned.append(tuned(outcome))
    book.write()
