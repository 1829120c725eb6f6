"""Exactly once under faults: the engine, the broker or the database dies in the middle of a window."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cases import case_c, case_d, case_f
from bench.engine_pipeline import EngineCase
from bench.intervention import Intervention
from bench.pipeline_c import PipelineC
from bench.pipeline_table import PipelineD, PipelineF

pytestmark = pytest.mark.recovery

AT_S = 4.4  # in the middle of a window, whether it is of one second or of two
DATABASE_GONE_S = 10.0


@pytest.fixture
def engine(engine):
    """With another engine these tests would claim of Spark what they saw of that one."""
    if engine.variant != "spark":
        pytest.skip(f"these faults are Spark's; {engine.variant} has its own")
    return engine


@pytest.fixture
def rerun(settings, run, tmp_path):
    """Runs a case that must be exact whatever happens to it, with the event clock: each row is checked."""

    def go(case, stack, builder, *interventions):
        load = replace(case.load, measure_s=10)
        case = replace(case, load=load, drain_s=120.0, windows=replace(case.windows, clock="event"))
        outcome = run(case, stack, interventions, builder, reports_dir=tmp_path, listed=False, retries=0)
        account = outcome.account
        assert account is not None, outcome.report.invalid_reasons
        assert account.expected == load.total
        assert account.seen == load.total
        spoiled = account.lost, account.duplicates, account.unexpected, account.wrong
        assert spoiled == (0, 0, 0, 0), account
        assert outcome.metrics["driver_errors"] == 0, outcome.report.invalid_reasons
        return outcome

    return go


def test_spark_killed_in_mid_window_doubles_and_loses_nothing_in_results(settings, nats_stack, engine, rerun):
    """A restart from the checkpoint would publish a window twice, or forget one."""
    before = set(Path(tempfile.gettempdir()).glob("jetlag-*"))

    def crash():
        engine.kill()
        engine.restart()

    outcome = rerun(
        case_c(settings, "spark"), nats_stack, EngineCase(engine, PipelineC), Intervention(AT_S, crash)
    )
    assert outcome.metrics["output_silence_s_max"] > 1
    assert set(Path(tempfile.gettempdir()).glob("jetlag-*")) <= before, "a killed Spark left files behind"


def test_spark_killed_in_mid_window_doubles_and_loses_nothing_in_tidb(settings, full_stack, engine, rerun):
    """A restart would be invisible in TiDB only because the upsert hides it."""

    def crash():
        engine.kill()
        engine.restart()

    rerun(case_d(settings, "spark"), full_stack, EngineCase(engine, PipelineD), Intervention(AT_S, crash))


def test_nats_restarted_keeps_everything_on_file(settings, nats_stack, engine, rerun):
    """A broker that restarts would lose acknowledged events, or make the producer send them twice."""
    nats = nats_stack.nats
    case = case_c(settings, "spark")
    case = replace(case, transport=replace(case.transport, storage="file", message_ids=True))

    def crash():
        nats.kill()
        nats.restart()
        nats.wait_ready()

    outcome = rerun(case, nats_stack, EngineCase(engine, PipelineC), Intervention(AT_S, crash))
    assert {outage.who for outage in outcome.outages} == {"producer", "observer"}


def test_tidb_gone_for_ten_seconds_fails_batches_not_data(settings, full_stack, engine, rerun):
    """Spark's own sink would drop the rows it could not write."""
    tidb = full_stack.tidb

    def take_away():
        tidb.kill()
        threading.Timer(DATABASE_GONE_S, tidb.restart).start()

    outcome = rerun(
        case_f(settings, "spark"), full_stack, EngineCase(engine, PipelineF), Intervention(AT_S, take_away)
    )
    assert outcome.metrics["output_silence_s_max"] > DATABASE_GONE_S / 2
