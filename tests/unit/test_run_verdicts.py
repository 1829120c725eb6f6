"""From a finished run to its verdict: no gate without its metric, no fault without its reason."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import pipeline_b
from bench.case import Case
from bench.cases import case_a, case_b, case_c, case_d, case_f
from bench.clock import RunClock
from bench.contract.result import mock_result
from bench.latency import LatencyRecorder
from bench.outcome import Outcome
from bench.phases import PhasedRecorder, Phases
from bench.pipeline import Balance
from bench.pipeline_a import PipelineA
from bench.pipeline_b import PipelineB
from bench.pipeline_c import PipelineC
from bench.profile import PROFILES
from bench.result_table import TableContent
from bench.run import _Run
from bench.sampler import Sample
from bench.schedule import ConstantRate
from bench.seqset import SeqLedger
from bench.settings import RawOptions, check_options
from bench.usage_log import UsageLog
from bench.verdict import Verdict
from bench.worker import Worker

SECOND_NS = 1_000_000_000
START_NS = 100 * SECOND_NS
EPOCH_NS = 1_700_000_000 * SECOND_NS


def small(make, profile: str = "smoke", *variant: str) -> Case:
    options = RawOptions(profile=profile, rate="50", warmup="2", measure="6", num_keys="5", window_ms="1000")
    return make(check_options(options), *variant)


def phases_of(case: Case) -> Phases:
    border_ns = START_NS + case.load.warmup_s * SECOND_NS
    return Phases(START_NS, border_ns, border_ns + case.load.measure_s * SECOND_NS)


def still_clock() -> RunClock:
    return RunClock(lambda: START_NS, lambda: START_NS + EPOCH_NS)


class SentAll:
    """A producer that is done, every message acknowledged in time."""

    def __init__(self, case: Case) -> None:
        self.total = self.sent = self.acked = self.settled = case.load.total
        self.refused: Counter[str] = Counter()
        self.refused_count = self.republished = 0
        self.outage_log = SimpleNamespace(outages=[])
        self.slip = LatencyRecorder()
        self.slip.record(np.full(self.total, 500, np.int64))

    def acked_flags(self) -> np.ndarray:
        flags = np.ones(self.total + 1, np.bool_)
        flags[0] = False
        return flags


def complete_a(case: Case) -> PipelineA:
    """Case A's pipeline after a run in which every event was seen."""
    pipeline = object.__new__(PipelineA)
    seqs = np.arange(1, case.load.total + 1, dtype=np.int64)
    ledger = SeqLedger(case.load.total)
    ledger.mark(seqs)
    latency = PhasedRecorder(phases_of(case), case.late_after_s)
    latency.record(ConstantRate(START_NS, case.load.rate_per_s).intended_ns(seqs), np.full(len(seqs), 4000))
    pipeline._observer = SimpleNamespace(  # type: ignore[assignment]
        ledger=ledger,
        foreign=0,
        redelivered=0,
        latency=latency,
        to_stored=LatencyRecorder(),
        from_stored=LatencyRecorder(),
        outage_log=SimpleNamespace(outages=[]),
    )
    pipeline.producer = SentAll(case)  # type: ignore[assignment]
    return pipeline


def mock_table(case: Case) -> TableContent:
    clock, schedule = still_clock(), ConstantRate(START_NS, case.load.rate_per_s)
    seqs = np.arange(1, case.load.total + 1, dtype=np.int64)
    ends_ms = (schedule.intended_ns(seqs) + clock.epoch_offset_ns) // 1_000_000
    rows = [mock_result("run", seq, end, case.load.num_keys) for seq, end in zip(seqs, ends_ms, strict=True)]
    return TableContent.of_rows(
        [
            (
                r.key,
                r.window_end_ms,
                r.count,
                r.sum_value,
                r.seq,
                r.producer_ts_ms,
                r.window_end_ms * 1000 + 9000,
            )
            for r in rows
        ]
    )


def complete_b(case: Case, monkeypatch: pytest.MonkeyPatch, offset_ms: float = 0.5) -> PipelineB:
    """Case B's pipeline after a run in which every row is in the table."""
    monkeypatch.setattr(pipeline_b, "read_table", lambda *_args, **_scope: mock_table(case))
    monkeypatch.setattr(pipeline_b, "clock_offset_ms", lambda _endpoint: offset_ms)
    pipeline = object.__new__(PipelineB)
    stack = SimpleNamespace(
        connect_database=lambda: SimpleNamespace(close=lambda: None), database=lambda: None
    )
    pipeline._context = SimpleNamespace(  # type: ignore[assignment]
        case=case,
        run_id="run",
        stack=stack,
        clock=still_clock(),
        schedule=ConstantRate(START_NS, case.load.rate_per_s),
        phases=phases_of(case),
    )
    pipeline._offset_before_ms = -0.25
    pipeline.writer = SimpleNamespace(  # type: ignore[assignment]
        hidden_duplicates=lambda _published: 0,
        commit_latency=LatencyRecorder(),
        outage_log=SimpleNamespace(outages=[]),
        received=case.load.total,
        committed=case.load.total,
        redelivered=0,
        stray=0,
        db_had=0,
    )
    state = SimpleNamespace(polls=8, rows=case.load.total)
    pipeline._validator = SimpleNamespace(state=state, failed_polls=0)  # type: ignore[assignment]
    pipeline.producer = SentAll(case)  # type: ignore[assignment]
    return pipeline


def samples_of(case: Case) -> list[Sample]:
    load = case.load
    samples = []
    for second in range(1, load.warmup_s + load.measure_s + 1):
        sent = second * load.rate_per_s
        phase = "warm-up" if second <= load.warmup_s else "measure"
        samples.append(
            Sample(
                t_s=float(second),
                out_t_s=second + 0.01,
                phase=phase,
                prod_max_seq=sent,
                prod_sent=sent,
                prod_acked=sent,
                prod_rate=float(load.rate_per_s),
                out_count=sent,
                out_max_seq=sent,
                out_rate=float(load.rate_per_s),
                lag=0,
                p95_ms=4.0,
                p99_ms=4.0,
                slip_p99_ms=0.5,
            )
        )
    return samples


def judged(
    case: Case, pipeline: Any, workers: list[Worker] | None = None, samples: list[Sample] | None = None
) -> Outcome:
    """The run's own judging, on a run that was never run."""
    run = object.__new__(_Run)
    pipeline.workers = workers or []
    run._case, run._run_id, run._clock = case, "run", still_clock()
    run._pipeline = pipeline
    run._files = SimpleNamespace(folder=Path("reports/run"))  # type: ignore[assignment]
    run._usage = UsageLog(run._files, phases_of(case))
    run._sampler = SimpleNamespace(samples=samples_of(case) if samples is None else samples)  # type: ignore[assignment]
    return run._outcome(pipeline.workers)


def metrics_of_windows(case: Case) -> set[str]:
    pipeline = object.__new__(PipelineC)
    pipeline.context = SimpleNamespace(  # type: ignore[assignment]
        case=case,
        clock=still_clock(),
        phases=phases_of(case),
        schedule=ConstantRate(START_NS, case.load.rate_per_s),
    )
    pipeline.watch = SimpleNamespace(down=0)  # type: ignore[assignment]
    return set(pipeline.windowed_metrics(TableContent.of_rows([("k1", 1000, 1, 1, 1, 1, 1)])))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_complete_run_of_case_a_has_every_metric_and_passes(profile: str) -> None:
    """If this fails, a misspelt gate makes every run of case A invalid, or a good run does not pass."""
    case = small(case_a, profile)
    outcome = judged(case, complete_a(case))
    assert {gate.metric for gate in case.gates} <= set(outcome.metrics)
    assert outcome.report.invalid_reasons == ()
    assert outcome.report.violations == ()
    assert outcome.verdict is Verdict.PASS


@pytest.mark.parametrize("profile", PROFILES)
def test_a_complete_run_of_case_b_has_every_metric_and_passes(profile: str, monkeypatch) -> None:
    """If this fails, a misspelt gate makes every run of case B invalid, or a good run does not pass."""
    case = small(case_b, profile)
    outcome = judged(case, complete_b(case, monkeypatch))
    assert {gate.metric for gate in case.gates} <= set(outcome.metrics)
    assert outcome.report.invalid_reasons == ()
    assert outcome.report.violations == ()
    assert outcome.verdict is Verdict.PASS


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("make", [case_c, case_d, case_f])
def test_every_gate_of_an_engine_case_names_a_metric_that_is_made(make, profile: str, monkeypatch) -> None:
    """If this fails, a misspelt gate makes every run of an engine invalid."""
    case = small(make, profile, "spark")
    baseline = small(case_b, profile)
    made = set(judged(baseline, complete_b(baseline, monkeypatch)).metrics) | metrics_of_windows(case)
    assert {gate.metric for gate in case.gates} <= made


def test_the_larger_of_two_clock_offsets_counts_whatever_its_sign(monkeypatch) -> None:
    """If this fails, a database clock that runs behind passes as exact."""
    case = small(case_b)
    outcome = judged(case, complete_b(case, monkeypatch, offset_ms=-900.0))
    assert outcome.metrics["clock_offset_ms_abs"] == 900
    assert outcome.verdict is Verdict.INVALID
    assert any("clock_offset_ms_abs" in reason for reason in outcome.report.invalid_reasons)


def dead(name: str, error: Exception) -> Worker:
    def die(_stop: threading.Event) -> None:
        raise error

    worker = Worker(name, die)
    worker.start()
    worker.join(5)
    return worker


def test_a_dead_driver_is_invalid_and_says_what_it_died_of() -> None:
    """If this fails, a run without its observer is a clean measurement of nothing."""
    case = small(case_a)
    outcome = judged(case, complete_a(case), [dead("observer", ZeroDivisionError("by sabotage"))])
    assert outcome.verdict is Verdict.INVALID
    assert "observer: ZeroDivisionError: by sabotage" in outcome.report.invalid_reasons
    assert outcome.metrics["driver_errors"] == 1
    assert outcome.details["errors"] == ["observer: ZeroDivisionError: by sabotage"]


def test_a_table_that_cannot_be_read_is_invalid_and_not_a_crash(monkeypatch) -> None:
    """If this fails, a database that is gone at the end takes the whole report with it."""
    case = small(case_b)
    pipeline = complete_b(case, monkeypatch)

    def gone() -> Balance:
        raise ConnectionRefusedError("TiDB is gone")

    pipeline.balance = gone  # type: ignore[method-assign]
    outcome = judged(case, pipeline)
    assert outcome.verdict is Verdict.INVALID
    assert "accounting: ConnectionRefusedError: TiDB is gone" in outcome.report.invalid_reasons
    missing = {reason.split(":")[0] for reason in outcome.report.invalid_reasons}
    assert {"lost", "duplicates", "latency_samples", "clock_offset_ms_abs"} <= missing
    assert outcome.account is None
    assert outcome.latency_ms("p99") is None


def test_refused_publishes_are_invalid_and_say_why() -> None:
    """If this fails, messages that JetStream refused are missing without a reason."""
    case = small(case_a)
    pipeline = complete_a(case)
    pipeline.producer.refused["maximum bytes exceeded (10077)"] += 3
    pipeline.producer.refused_count = 3
    outcome = judged(case, pipeline)
    assert outcome.verdict is Verdict.INVALID
    assert "publish refused 3 times: maximum bytes exceeded (10077)" in outcome.report.invalid_reasons


def test_unanswered_publishes_are_invalid() -> None:
    """If this fails, a producer that gave up early passes with the little it sent."""
    case = small(case_a)
    pipeline = complete_a(case)
    pipeline.producer.settled -= 1
    outcome = judged(case, pipeline)
    assert outcome.metrics["publishes_unanswered"] == 1
    assert outcome.verdict is Verdict.INVALID


def test_a_run_without_samples_is_invalid() -> None:
    """If this fails, a run in which nobody looked passes."""
    case = small(case_a)
    outcome = judged(case, complete_a(case), samples=[])
    assert outcome.verdict is Verdict.INVALID
    missing = {reason.split(":")[0] for reason in outcome.report.invalid_reasons}
    assert missing == {"producer_rate_share", "rate_match", "lag_slope_share", "lag_max", "latency_p99_ratio"}


def test_a_run_without_latencies_is_invalid() -> None:
    """If this fails, a run that measured no latency has the best latency."""
    case = small(case_a)
    pipeline = complete_a(case)
    pipeline._observer.latency = PhasedRecorder(phases_of(case), case.late_after_s)
    outcome = judged(case, pipeline)
    assert [reason.split(":")[0] for reason in outcome.report.invalid_reasons] == ["latency_samples"]


@pytest.mark.parametrize("name", ["lost", "duplicates", "unexpected", "late"])
def test_one_fault_of_each_kind_fails_the_run(name: str) -> None:
    """If this fails, a kind of fault is counted and not judged."""
    case = small(case_a)
    pipeline = complete_a(case)
    balance = pipeline.balance()
    setattr(balance.account, name, 1)
    pipeline.balance = lambda: balance  # type: ignore[method-assign]
    outcome = judged(case, pipeline)
    assert outcome.verdict is Verdict.FAIL
    assert [violation.metric for violation in outcome.report.violations] == [name]
