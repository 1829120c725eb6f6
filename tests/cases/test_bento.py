"""Bento as a sink and as an engine, when things go wrong: killed in mid-run, or given a result twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import nats
import pytest

from bench.bento.sink import BentoSink
from bench.cases import case_d, case_e
from bench.contract.names import RESULTS, results_filter
from bench.engine.bento import BentoEngine
from bench.engine.spark import SparkEngine
from bench.engine_pipeline import EngineCase
from bench.intervention import Intervention
from bench.pipeline_e import BentoCase
from bench.pipeline_table import PipelineD
from bench.verdict import Verdict

AT_S = 4.4  # in the middle of a window
STALLED_S = 2.5  # longer than two windows: Bento then holds rows that it cannot write
#: What was delivered and not acknowledged when Bento died comes again after this.
ACK_WAIT_S = 4


@pytest.fixture
def go(run, tmp_path):
    """Runs a case outside the reports folder and the closing table."""

    def go(case, stack, builder, *interventions):
        case = replace(case, drain_s=90.0)
        return run(case, stack, interventions, builder, reports_dir=tmp_path, listed=False, retries=0)

    return go


def crash(process):
    def kill_and_restart():
        process.kill()
        process.restart()

    return Intervention(AT_S, kill_and_restart)


def assert_exact(outcome):
    account = outcome.account
    assert account is not None, outcome.report.invalid_reasons
    assert account.expected == account.seen == outcome.case.load.total
    spoiled = account.lost, account.duplicates, account.unexpected, account.wrong
    assert spoiled == (0, 0, 0, 0), account
    assert outcome.metrics["driver_errors"] == 0, outcome.report.invalid_reasons


@pytest.mark.recovery
def test_bento_killed_in_case_e_loses_and_changes_nothing(settings, full_stack, go):
    """Rows that Bento had read and not written when it died would be missing from TiDB, or wrong in it."""
    case = case_e(settings, "spark")
    # By the event clock every single row has a known truth.
    case = replace(case, windows=replace(case.windows, clock="event"))
    sink, tidb = BentoSink(ack_wait_s=ACK_WAIT_S), full_stack.tidb

    def kill_with_its_hands_full():
        sink.kill()
        tidb.resume()
        sink.restart()

    stall = Intervention(AT_S, tidb.pause)
    kill = Intervention(AT_S + STALLED_S, kill_with_its_hands_full)
    outcome = go(case, full_stack, BentoCase(SparkEngine(), sink), stall, kill)
    assert_exact(outcome)
    assert outcome.account.redelivered > 0, "Bento had nothing in its hands when it died"
    assert outcome.metrics["sink_down"] > 0
    assert outcome.verdict is Verdict.INVALID, "a run whose sink was down must not pass"


@pytest.mark.recovery
def test_bento_killed_as_an_engine_loses_nothing(settings, full_stack, go):
    """Events of the window that was open when it died would be gone: they must come again, in a later one."""
    engine = BentoEngine(min_ack_wait_s=ACK_WAIT_S)
    case = case_d(settings, "bento")
    outcome = go(case, full_stack, EngineCase(engine, PipelineD), crash(engine))
    account = outcome.account
    assert account is not None, outcome.report.invalid_reasons
    assert (account.lost, account.unexpected) == (0, 0), account
    assert outcome.metrics["engine_down"] > 0
    assert outcome.verdict is Verdict.INVALID


def test_bento_s_windows_are_exact_and_in_time(settings, full_stack, go):
    """The engine that a machine without images is compared with would be wrong or late."""
    outcome = go(case_d(settings, "bento"), full_stack, EngineCase(BentoEngine(), PipelineD))
    assert_exact(outcome)
    outcome.raise_unless_pass()


@pytest.mark.sabotage
def test_a_doubled_result_fails_case_e(settings, full_stack, go):
    """A result that is published twice would be hidden by Bento's upsert."""

    def double():
        async def again():
            endpoint = full_stack.nats.endpoint
            client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
            try:
                js = client.jetstream()
                message = await js.get_msg(RESULTS, 100, subject=results_filter("bento"), next=True)
                await js.publish(message.subject, message.data)
            finally:
                await client.close()

        asyncio.run(again())

    builder = BentoCase(BentoEngine(), BentoSink())
    outcome = go(case_e(settings, "bento"), full_stack, builder, Intervention(AT_S, double))
    assert outcome.account.duplicates == 1
    assert outcome.account.lost == outcome.account.wrong == 0
    assert {violation.metric for violation in outcome.report.violations} == {"duplicates"}
    assert outcome.verdict is Verdict.FAIL, outcome.report
