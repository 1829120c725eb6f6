"""Run one case: wire it, let it warm up, measure, drain, account, judge, and write it all down."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.case import Case
from bench.clock import RunClock
from bench.contract.names import check_run_id
from bench.database import create_table, has_rows
from bench.figures import pace_metrics
from bench.gates import GateReport, evaluate
from bench.intervention import Intervention, Interventions
from bench.manifest import make_manifest
from bench.outcome import Outcome
from bench.phases import Phases
from bench.pipeline import Balance, Pipeline, PipelineBuilder, RunContext
from bench.pipeline_a import PipelineA
from bench.pipeline_b import PipelineB
from bench.progress import Progress
from bench.pulse import Pulse
from bench.resources import ResourceMonitor, thread_cpu_s
from bench.runfiles import ReportsError, RunFiles
from bench.sampler import Sampler
from bench.schedule import ConstantRate
from bench.stack import Stack
from bench.stream_admin import StreamAdmin
from bench.usage_log import UsageLog
from bench.verdict import Verdict
from bench.worker import Worker

BUILDERS: dict[str, PipelineBuilder] = {"A": PipelineA, "B": PipelineB}

#: Drivers connect and listen in this time; the first event is due after it.
LEAD_S = 0.5
#: With nothing delivered for this long after all has come out, no duplicate is on its way either.
QUIET_S = 0.5
STOP_TIMEOUT_S = 15.0
#: Threads hand over the interpreter this often: the default 5 ms would show up as slip.
SWITCH_INTERVAL_S = 0.0005


def run_case(
    case: Case,
    stack: Stack,
    *,
    run_id: str,
    reports_dir: Path,
    progress: Progress,
    interventions: Sequence[Intervention] = (),
    settings: Mapping[str, Any] | None = None,
    builder: PipelineBuilder | None = None,
) -> Outcome:
    """One run from empty streams to result.json. Raises only if it could not be run or written."""
    check_run_id(run_id)
    if stack.tidb is not None:
        create_table(stack.database())
        if has_rows(stack.database(), run_id):
            raise ReportsError(f"the table holds rows of run {run_id} already: choose another --run-id")
    clock = RunClock()
    files = RunFiles(reports_dir, run_id, time.time())
    try:
        progress.phase(case, run_id, "set-up")
        builder = builder or BUILDERS[case.letter]
        manifest = make_manifest(
            case, run_id, stack.provider, stack.services(), settings or {}, builder.settings()
        )
        files.write_json("manifest.json", manifest)
        pulse_consumer = make_streams(case, stack, run_id, builder)
        with builder.prepared(case, run_id, stack, files.folder), _steady_interpreter():
            run = _Run(case, stack, run_id, clock, files, progress, builder, pulse_consumer)
            outcome = run.go(Interventions(interventions))
        # Some versions are known only once the engine has run.
        manifest["engine"] = dict(builder.settings()) or None
        manifest["clock_offset_ms"] = outcome.metrics.get("clock_offset_ms")
        files.write_json("manifest.json", manifest)
        files.write_json("result.json", outcome.as_dict())
        files.point_latest()
        return outcome
    finally:
        files.close()
        progress.done()


def make_streams(case: Case, stack: Stack, run_id: str, builder: PipelineBuilder) -> str:
    """Empty streams and all consumers, before the schedule runs: they take as long as they take."""
    pulse_consumer = f"pulse_{run_id}"
    with StreamAdmin(stack.nats.endpoint) as admin:
        transport = case.transport
        admin.recreate_streams(transport.storage, transport.replicas, transport.max_bytes)
        admin.create_pulse_consumer(pulse_consumer)
        for consumer, ack_policy in builder.consumers(case):
            admin.create_consumer(consumer, ack_policy)
    return pulse_consumer


def _start_ns(case: Case, clock: RunClock) -> int:
    """When the first event is due: in the engine cases where a window starts, so that windows are whole."""
    earliest = clock.now_ns() + int(LEAD_S * 1e9)
    if case.windows is None:
        return earliest
    window_ns = case.windows.window_ms * 1_000_000
    return earliest + -clock.epoch_ns(earliest) % window_ns


@contextmanager
def _steady_interpreter() -> Iterator[None]:
    """Threads hand over often, and no garbage collection walks all of pytest's objects in between."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


class _Run:
    def __init__(
        self,
        case: Case,
        stack: Stack,
        run_id: str,
        clock: RunClock,
        files: RunFiles,
        progress: Progress,
        builder: PipelineBuilder,
        pulse_consumer: str,
    ) -> None:
        self._case, self._stack, self._run_id = case, stack, run_id
        self._clock, self._files, self._progress = clock, files, progress
        load = case.load
        start_ns = _start_ns(case, clock)
        measure_ns = start_ns + load.warmup_s * 1_000_000_000
        self._phases = Phases(start_ns, measure_ns, measure_ns + load.measure_s * 1_000_000_000)
        schedule = ConstantRate(start_ns, load.rate_per_s)
        context = RunContext(case, run_id, stack, clock, schedule, self._phases, files)
        self._pipeline: Pipeline = builder(context)
        self._usage = UsageLog(files, self._phases)
        self._sampler = Sampler(
            files,
            run_id,
            clock,
            self._phases,
            self._pipeline.producer,
            Pulse(stack.connect_nats, pulse_consumer, run_id),
            self._pipeline.output,
            progress.sample,
        )
        monitor = ResourceMonitor(stack.services(), self._usage.add, self._pipeline.processes())
        self._watchers = [Worker("sampler", self._sampler.run), Worker("resources", monitor.run)]

    def go(self, interventions: Interventions) -> Outcome:
        load = self._case.load
        self._files.line(
            f"START case={self._case.name} rate={load.rate_per_s}/s warmup={load.warmup_s}s "
            f"measure={load.measure_s}s keys={load.num_keys} bytes={load.payload_bytes} run_id={self._run_id}"
        )
        workers = [*self._pipeline.workers, *self._watchers]
        try:
            for worker in workers:
                worker.start()
            self._watch(interventions)
            self._stop(workers)
            self._sampler.write_rest()
            overdue = interventions.overdue
            interventions.fire_drained()
        except KeyboardInterrupt:
            self._stop(workers)
            self._write_interrupted()
            raise
        finally:
            self._stop(workers)
        self._progress.phase(self._case, self._run_id, "check")
        return self._outcome(workers, overdue)

    def _watch(self, interventions: Interventions) -> None:
        """Wait until all is out, a driver died, or the time for draining is over."""
        pipeline = self._pipeline
        producer = next(worker for worker in pipeline.workers if worker.name == "producer")
        give_up_ns = self._phases.measure_to_ns + int(self._case.drain_s * 1e9)
        quiet_since = time.monotonic()
        received = -1
        while True:
            time.sleep(0.05)
            now_ns = self._clock.now_ns()
            interventions.fire_due((now_ns - self._phases.start_ns) / 1e9)
            if any(worker.error for worker in [*pipeline.workers, *self._watchers]):
                return
            if received != pipeline.received():
                received, quiet_since = pipeline.received(), time.monotonic()
            quiet = time.monotonic() - quiet_since >= QUIET_S
            over = now_ns >= self._phases.measure_to_ns and len(self._measured()) >= self._case.load.measure_s
            if not producer.alive and over and pipeline.drained() and quiet:
                return
            if now_ns >= give_up_ns:
                return

    def _measured(self) -> list[Any]:
        return [sample for sample in self._sampler.samples if sample.phase == "measure"]

    def _stop(self, workers: list[Worker]) -> None:
        for worker in workers:
            worker.stop.set()
        for worker in workers:
            if worker.started and not worker.join(STOP_TIMEOUT_S) and worker.error is None:
                worker.error = TimeoutError(f"{worker.name} did not stop within {STOP_TIMEOUT_S:g} s")

    # -- judging -------------------------------------------------------------------

    def _outcome(self, workers: list[Worker], overdue: Sequence[float] = ()) -> Outcome:
        pipeline, load = self._pipeline, self._case.load
        errors = [f"{worker.name}: {_told(worker.error)}" for worker in workers if worker.error]
        errors += [f"nothing was done at {at_s:g} s: the run was over by then" for at_s in overdue]
        balance, unread = _try_balance(pipeline)
        if unread:
            errors.append(f"accounting: {unread}")
        producer = pipeline.producer
        slip_us = producer.slip.total.percentile_us(99)
        metrics: dict[str, float | int | None] = {
            **pace_metrics(self._sampler.samples, load.rate_per_s, self._case.p99_floor_ms),
            "slip_ms_p99": None if slip_us is None else slip_us / 1000,
            "publishes_refused": producer.refused_count,
            "publishes_unanswered": producer.total - producer.settled,
            "publishes_repeated": producer.republished,
            "driver_errors": len(errors),
            "wall_drift_ms_abs": abs(self._clock.wall_drift_ms()),
            **_balance_metrics(balance),
        }
        report = _with_reasons(evaluate(self._case.gates, metrics), errors, dict(producer.refused))
        cpu = {
            name: round(cpu_s / load.total * 1e6, 4) for name, cpu_s in thread_cpu_s(pipeline.workers).items()
        }
        return Outcome(
            case=self._case,
            run_id=self._run_id,
            folder=self._files.folder,
            report=report,
            metrics=metrics,
            account=balance.account if balance else None,
            latency=balance.latency if balance else None,
            hops=balance.hops if balance else {},
            outages=pipeline.outages(),
            resources=self._usage.summary(),
            driver_cpu_s_per_million=cpu,
            details={**(balance.details if balance else {}), "errors": errors},
        )

    def _write_interrupted(self) -> None:
        reason = "interrupted before the end"
        report = GateReport(Verdict.INVALID, (), (), (reason,))
        self._files.write_json(
            "result.json",
            {
                "run_id": self._run_id,
                "case": self._case.letter,
                "variant": self._case.variant,
                "verdict": report.verdict.value,
                "gates": report.as_dict(),
            },
        )


def _try_balance(pipeline: Pipeline) -> tuple[Balance | None, str]:
    """The account; a database that is gone by now makes the run invalid, not the suite crash."""
    try:
        return pipeline.balance(), ""
    except Exception as error:
        return None, _told(error)


def _told(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _balance_metrics(balance: Balance | None) -> dict[str, float | int | None]:
    if balance is None:
        return {}
    account = balance.account
    return {
        "lost": account.lost,
        "duplicates": account.duplicates,
        "unexpected": account.unexpected,
        "wrong": account.wrong,
        "late": account.late,
        "latency_samples": balance.latency.count,
        **balance.metrics,
    }


def _with_reasons(report: GateReport, errors: list[str], refused: dict[str, int]) -> GateReport:
    """The gate counts dead drivers and refused publishes; the reader wants to know what they said."""
    told = [*errors, *(f"publish refused {count} times: {text}" for text, count in refused.items())]
    if not told:
        return report
    return GateReport(Verdict.INVALID, report.results, report.violations, (*report.invalid_reasons, *told))
