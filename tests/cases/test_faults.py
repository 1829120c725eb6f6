"""The matrix of faults: every target of every case killed, paused, cut off and slowed down, and measured.

`make faults` runs all; an ordinary run of the tests one cell without an engine, another every day. (Faults on
engines are in test_engine_recovery.py and test_bento.py every time.)
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from bench.bento.sink import BentoSink
from bench.cases import case_a, case_b, case_c, case_d, case_e, case_f
from bench.engine.spark import SparkEngine
from bench.engine_pipeline import EngineCase
from bench.fault.matrix import MATRIX, Cell, todays
from bench.fault.spec import Fault
from bench.fault.support import refusal
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.pipeline_a import PipelineA
from bench.pipeline_c import PipelineC
from bench.pipeline_e import BentoCase
from bench.pipeline_table import PipelineD, PipelineF
from bench.stack import Stack

pytestmark = pytest.mark.faults

#: What Bento had in its hands when it died comes again after this; its default is 30 s.
ACK_WAIT_S = 5
WITHOUT_ENGINE = [cell for cell in MATRIX if not cell.needs_engine]
#: Kills of the engine at random moments, each a run of its own.
RANDOM_KILLS = 10
#: Of a server with its streams in memory.
KILL = Fault("nats", "kill", 3.0, 1.0)


def pytest_generate_tests(metafunc):
    """All of the matrix, or today's part of it."""
    if "cell" not in metafunc.fixturenames:
        return
    everything = metafunc.config.getoption("--all-faults")
    cells = MATRIX if everything else todays(singly(WITHOUT_ENGINE), 1)
    metafunc.parametrize("cell", cells, ids=[cell.name for cell in cells])


def singly(cells: list[Cell]) -> list[Cell]:
    """One fault a run: what an ordinary run of the tests has time for."""
    return [replace(cell, kinds=(kind,)) for cell in cells for kind in cell.kinds]


def made(cell: Cell, settings):
    """(case, builder) of a cell."""
    settings = replace(settings, storage=cell.storage, replicas=cell.replicas)
    match cell.letter:
        case "A":
            return case_a(settings), None
        case "B":
            return case_b(settings), None
        case "C":
            return case_c(settings, "spark"), EngineCase(SparkEngine(), PipelineC)
        case "D":
            return case_d(settings, "spark"), EngineCase(SparkEngine(), PipelineD)
        case "E":
            return case_e(settings, "spark"), BentoCase(SparkEngine(), BentoSink(ack_wait_s=ACK_WAIT_S))
    return case_f(settings, "spark"), EngineCase(SparkEngine(), PipelineF)


@pytest.fixture
def stack(cell, full_stack, provider):
    """The session's services; a cell that fills a disk or hurts a leader has a NATS of its own."""
    if "disk-full" in cell.kinds:
        with running(LocalNats(with_small_disk=True)) as nats:
            yield Stack(full_stack.provider, nats, full_stack.tidb)
    elif cell.target == "nats-leader":
        with provider.nats_cluster() as cluster:
            yield Stack(provider.name, next(iter(cluster.nodes.values())), full_stack.tidb, cluster)
    else:
        yield full_stack


def test_recovery(cell, settings, full_stack, request, run):
    """A fault would lose an acknowledged message, double a row, or leave the pipeline behind for good."""
    case, builder = made(cell, settings)
    for fault in cell.faults():
        why = refusal(fault, case, full_stack.provider)
        if why is not None:
            pytest.skip(f"{fault}: {why}")
    outcome = run(case, request.getfixturevalue("stack"), builder=builder, faults=cell.faults(), retries=0)
    outcome.raise_unless_pass()
    cells = outcome.details["faults"]["cells"]
    assert [one["fault"] for one in cells] == [fault.name for fault in cell.faults()]
    if cell.storage == "memory":
        assert outcome.account.lost == outcome.metrics["lost_expected"]
    else:
        assert outcome.account.expected == outcome.account.seen == outcome.case.load.total


class DeafUntilRenewed(PipelineA):
    """An observer that begins to read when the streams have been made anew: all before is then lost."""

    def __init__(self, context):
        super().__init__(context)
        observer = self.workers[0]
        listen = observer._work

        def listen_later(stop):
            stop.wait(KILL.at_s + KILL.duration_s + 2.0)
            listen(stop)

        observer._work = listen_later


def test_what_a_server_held_in_memory_is_lost_and_counted_exactly(settings, nats_stack, run):
    """A loss that is expected would excuse any loss."""
    case = case_a(replace(settings, storage="memory"))
    outcome = run(case, nats_stack, builder=DeafUntilRenewed, faults=[KILL], listed=False, retries=0)
    assert "exactly the acknowledged messages" in outcome.details["faults"]["expectation"]
    assert outcome.account.lost == outcome.metrics["lost_expected"] > 0
    assert outcome.metrics["lost_unexplained"] == 0
    violated = [violation.metric for violation in outcome.report.violations]
    assert violated == [], outcome.report


def test_ten_kills_of_the_engine_at_random_times(request, settings, full_stack, run):
    """Some moment of a micro-batch or a checkpoint would lose a window or write one twice."""
    if not request.config.getoption("--all-faults"):
        pytest.skip("ten runs of a minute: make faults")
    chance = random.Random(settings.seed)
    for number in range(RANDOM_KILLS):
        at_s = round(chance.uniform(4.0, 9.0), 3)
        case = case_d(replace(settings, storage="file"), "spark")
        builder = EngineCase(SparkEngine(), PipelineD)
        kill = [Fault("engine", "kill", at_s, 0.05)]
        outcome = run(case, full_stack, builder=builder, faults=kill, retries=0)
        outcome.raise_unless_pass()
        account = outcome.account
        assert account.expected == account.seen == outcome.case.load.total, f"kill {number} at {at_s} s"
