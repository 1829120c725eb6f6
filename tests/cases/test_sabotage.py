"""The gates prove themselves: each way to spoil a run must turn it red, for the right reason."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from dataclasses import replace

import nats
import pytest

from bench.cases import case_a, case_b
from bench.contract.event import encode_event, key_of, make_event
from bench.contract.names import events_subject
from bench.contract.partition import partition_of
from bench.contract.table import TABLE
from bench.database import connect
from bench.intervention import Intervention
from bench.pipeline_a import PipelineA
from bench.verdict import RunFailed, RunInvalid, Verdict

pytestmark = pytest.mark.sabotage


@pytest.fixture
def spoil(settings, run, tmp_path):
    """Runs a case with interventions, outside the reports folder and the closing table."""

    def go(case, stack, *interventions, builder=None, retries=settings.retry_invalid):
        return run(case, stack, interventions, builder, reports_dir=tmp_path, listed=False, retries=retries)

    return go


def violated(outcome) -> set[str]:
    return {violation.metric for violation in outcome.report.violations}


def over_nats(stack, talk):
    """Do something as another client of the same server would."""
    endpoint = stack.nats.endpoint

    async def connected():
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        try:
            await talk(client.jetstream())
        finally:
            await client.close()

    asyncio.run(connected())


class DeafAtFirst(PipelineA):
    """An observer that starts late, so that something can happen to the stream before it reads."""

    def __init__(self, context):
        super().__init__(context)
        observer = self.workers[0]
        listen = observer._work

        def listen_later(stop: threading.Event) -> None:
            stop.wait(1.5)
            listen(stop)

        observer._work = listen_later


def test_one_dropped_event_fails_case_a(settings, nats_stack, spoil):
    """A single event that vanishes from the stream would go unnoticed."""

    def drop():
        over_nats(nats_stack, lambda js: js.delete_msg("EVENTS", 100))

    case = replace(case_a(settings), drain_s=5.0)  # what is gone will not come in a minute either
    outcome = spoil(case, nats_stack, Intervention(0.8, drop), builder=DeafAtFirst)
    assert outcome.account.lost == 1
    assert "lost" in violated(outcome)
    assert outcome.account.duplicates == 0
    with pytest.raises(RunFailed, match="lost"):
        outcome.raise_unless_pass()


def test_one_doubled_event_fails_case_a(settings, nats_stack, spoil):
    """A single event that is stored twice would go unnoticed."""
    case = case_a(settings)
    run_ids: list[str] = []

    class Remembering(PipelineA):
        def __init__(self, context):
            run_ids.append(context.run_id)
            super().__init__(context)

    def double():
        event = make_event(run_ids[-1], 7, int(time.time() * 1000), case.load.num_keys)
        subject = events_subject(partition_of(event.key))
        over_nats(nats_stack, lambda js: js.publish(subject, encode_event(event, case.load.payload_bytes)))

    outcome = spoil(case, nats_stack, Intervention(3.0, double), builder=Remembering)
    assert outcome.account.duplicates == 1
    assert outcome.account.lost == 0
    assert "duplicates" in violated(outcome)
    assert outcome.verdict is Verdict.FAIL, outcome.report


def test_a_stalled_consumer_fails_case_a(settings, nats_stack, spoil):
    """A consumer that stops reading half-way would still look fast on average."""
    case = case_a(settings)

    class Stalling(PipelineA):
        def __init__(self, context):
            super().__init__(context)
            take = self._observer._take

            def stall(batch):
                take(batch)
                if self._observer.max_seq > 3 * case.load.rate_per_s:
                    self.workers[0].stop.wait(case.load.measure_s)

            self._observer._take = stall

    outcome = spoil(replace(case, drain_s=2.0), nats_stack, builder=Stalling)
    assert outcome.verdict is Verdict.FAIL, outcome.report
    assert {"lag_slope_share", "rate_match"} <= violated(outcome)


def test_a_starved_producer_makes_case_a_invalid(settings, nats_stack, spoil):
    """A producer that could not keep its schedule would be reported as a slow pipeline, or a fast one."""

    class Starved(PipelineA):
        def __init__(self, context):
            super().__init__(context)
            for _ in range(2):
                hog = threading.Thread(target=hold_the_interpreter, daemon=True)
                hog.start()

    def hold_the_interpreter():
        sys.setswitchinterval(0.7)
        deadline = time.monotonic() + 6.0
        while time.monotonic() < deadline:
            pass

    outcome = spoil(case_a(settings), nats_stack, builder=Starved, retries=0)
    assert outcome.verdict is Verdict.INVALID, outcome.report
    assert any(reason.startswith("slip_ms_p99") for reason in outcome.report.invalid_reasons)
    with pytest.raises(RunInvalid, match="schedule"):
        outcome.raise_unless_pass()


def test_a_dead_driver_thread_makes_the_run_invalid(settings, nats_stack, spoil):
    """A driver that died would leave a short, clean-looking measurement."""

    class Dying(PipelineA):
        def __init__(self, context):
            super().__init__(context)

            def die(batch):
                raise ZeroDivisionError("sabotage")

            self._observer._take = die

    outcome = spoil(case_a(settings), nats_stack, builder=Dying, retries=0)
    assert outcome.verdict is Verdict.INVALID, outcome.report
    assert any("ZeroDivisionError: sabotage" in reason for reason in outcome.report.invalid_reasons)


@pytest.mark.parametrize(
    ("statement", "metric"),
    [
        ("UPDATE {table} SET sum_value = sum_value + 1 WHERE run_id = %s AND seq = 50", "wrong"),
        ("DELETE FROM {table} WHERE run_id = %s AND seq = 50", "lost"),
        (
            "INSERT INTO {table} SELECT variant, run_id, 'k0', 1, 1, 1, 99999999, 1, db_insert_ts "
            "FROM {table} WHERE run_id = %s AND seq = 50",
            "unexpected",
        ),
    ],
    ids=["changed sum", "deleted row", "foreign row"],
)
def test_a_spoiled_table_fails_case_b(settings, full_stack, spoil, statement, metric):
    """A row that is wrong, gone or too many in TiDB would go unnoticed."""
    run_ids: list[str] = []

    def tamper():
        connection = connect(full_stack.database())
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT run_id FROM {TABLE} ORDER BY db_insert_ts DESC LIMIT 1")
            run_ids.append(cursor.fetchone()[0])
            assert cursor.execute(statement.format(table=TABLE), (run_ids[-1],)) == 1
        connection.commit()
        connection.close()

    outcome = spoil(case_b(settings), full_stack, Intervention("drained", tamper))
    assert run_ids[-1] == outcome.run_id
    assert violated(outcome) == {metric}
    assert getattr(outcome.account, metric) == 1
    assert outcome.verdict is Verdict.FAIL, outcome.report


def test_a_doubled_result_fails_case_b(settings, full_stack, spoil):
    """A result that is published twice would be hidden by the upsert."""

    def double():
        async def again(js):
            message = await js.get_msg("RESULTS", 20)
            await js.publish(message.subject, message.data)

        over_nats(full_stack, again)

    outcome = spoil(case_b(settings), full_stack, Intervention(3.0, double))
    assert outcome.account.duplicates == 1
    assert "duplicates" in violated(outcome)
    assert outcome.account.lost == outcome.account.wrong == 0


def test_a_stalled_database_fails_case_b(settings, full_stack, spoil):
    """A database that hangs from the middle of the run to its end would not show."""
    case = case_b(settings)
    tidb = full_stack.tidb

    def stall():
        tidb.pause()
        threading.Timer(case.load.measure_s + 1.0, tidb.resume).start()

    outcome = spoil(case, full_stack, Intervention(case.load.warmup_s + 1.0, stall))
    assert outcome.verdict is Verdict.FAIL, outcome.report
    assert violated(outcome) & {"lag_max", "lag_slope_share", "rate_match"}
    assert outcome.account.lost == 0


def test_keys_of_the_sabotage_are_the_contracts():
    """The doubled event above would go to a wrong subject and test nothing."""
    assert key_of(7, 20_000) == "k7"
