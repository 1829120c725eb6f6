"""Case B lives through a database that is gone and a connection that is cut, and its ledger stays exact."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest

from bench.cases import case_b
from bench.intervention import Intervention
from bench.stack import Stack

pytestmark = pytest.mark.recovery

OUTAGE_S = 5.0


@pytest.fixture
def long_enough(settings):
    """Case B with room for an outage of five seconds inside the measure window."""
    case = case_b(settings)
    return replace(case, load=replace(case.load, measure_s=10))


@pytest.fixture
def broken_run(run, tmp_path):
    """Runs a case that something is done to, outside the reports folder and the closing table."""

    def go(case, stack, intervention):
        return run(case, stack, [intervention], reports_dir=tmp_path, listed=False, retries=0)

    return go


def exact(outcome) -> bool:
    account = outcome.account
    spoiled = account.lost, account.duplicates, account.unexpected, account.wrong
    return account.expected == outcome.case.load.total and spoiled == (0, 0, 0, 0)


@pytest.mark.parametrize("how", ["killed", "paused"])
def test_a_database_gone_for_five_seconds_costs_no_row(long_enough, full_stack, broken_run, how):
    """A restart of TiDB would lose or double what was being written."""
    tidb = full_stack.tidb

    def take_away():
        tidb.kill() if how == "killed" else tidb.pause()
        threading.Timer(OUTAGE_S, tidb.restart if how == "killed" else tidb.resume).start()

    outcome = broken_run(long_enough, full_stack, Intervention(2.5, take_away))
    assert exact(outcome), outcome.account
    assert "driver_errors" not in " ".join(outcome.report.invalid_reasons)
    gap_s = outcome.metrics["lag_max"] / long_enough.load.rate_per_s
    assert gap_s >= OUTAGE_S / 2, "the gap does not show in the lag"
    if how == "killed":
        assert [outage.who for outage in outcome.outages] == ["writer"]
        assert outcome.outages[0].lasted_ms >= OUTAGE_S * 1000 / 2


class CuttableStack(Stack):
    """Remembers the connections its drivers make, so that they can be cut."""

    def connect_nats(self, name):
        connection = super().connect_nats(name)
        _OPEN.setdefault(name, []).append(connection)
        return connection


_OPEN: dict[str, list] = {}


@pytest.mark.parametrize("who", ["writer", "producer"])
def test_a_cut_nats_connection_costs_no_row(long_enough, full_stack, broken_run, who):
    """A connection that breaks once would lose what was under way, or send it twice."""
    _OPEN.clear()
    stack = CuttableStack(full_stack.provider, full_stack.nats, full_stack.tidb)

    def cut():
        _OPEN[who][-1]._socket.shutdown(socket.SHUT_RDWR)

    outcome = broken_run(long_enough, stack, Intervention(3.0, cut))
    assert exact(outcome), outcome.account
    assert [outage.who for outage in outcome.outages] == [who]
    assert len(_OPEN[who]) == 2
