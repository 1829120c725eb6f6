"""What became of a case: its ledger, its figures, and the verdict of its gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench.gates import GateReport, evaluate
from bench.joins.batches import BatchLine, Figures, batch_figures, live_per_s
from bench.joins.case import JoinCase
from bench.joins.joined import Joined
from bench.joins.ledger import JoinAccount, due_epoch_ns, intended_epoch_ns, settle
from bench.joins.publishing import Published
from bench.joins.recovery import Recovery
from bench.joins.seconds import Second, seconds_of, slope_of
from bench.joins.truth import truth_of
from bench.joins.workload import CLOSING, Workload
from bench.latency import LatencyRecorder
from bench.schedule import Ints
from bench.verdict import Verdict

Metrics = Mapping[str, float | int | None]


@dataclass(frozen=True)
class Sample:
    """A look at a case while it runs."""

    t_s: float
    sent: int
    joined: int
    memory_bytes: int | None


@dataclass(frozen=True)
class Seen:
    """All that a run saw; what it makes of it is `judge`'s."""

    joined: Joined
    lines: Sequence[BatchLine]
    samples: Sequence[Sample]
    #: None where everything was there before the join started.
    published: Published | None
    #: From the order to start to the last row.
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True)
class JoinOutcome:
    case: JoinCase
    account: JoinAccount
    metrics: Metrics
    report: GateReport
    #: From the intended time of the fact, µs.
    latency_us: Mapping[str, float | int | None]
    #: From when the last row it waits for was due, µs.
    delay_us: Mapping[str, float | int | None]
    lines: Sequence[BatchLine]
    samples: Sequence[Sample]
    seconds: Sequence[Second] = ()
    recovery: Recovery | None = None
    tasks: int = 0
    run_id: str = ""

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "report": self.report.as_dict(), "verdict": self.report.verdict.value}


def judge(case: JoinCase, seen: Seen, tasks: int, recovery: Recovery | None = None) -> JoinOutcome:
    workload, published = case.workload, seen.published
    due: Ints | None = None
    seconds: tuple[Second, ...] = ()
    latency, delay = LatencyRecorder(), LatencyRecorder()
    if published is not None:
        index = np.arange(workload.facts, dtype=np.int64)
        start, rate = published.start_epoch_ns, published.facts_per_s
        due = due_epoch_ns(workload, truth_of(workload), start, rate)
        _record(latency, seen.joined, intended_epoch_ns(index, start, rate), start, case.warmup_s)
        _record(delay, seen.joined, due, start, case.warmup_s)
        seconds = seconds_of(seen.joined, due, start)
    account = settle(workload, seen.joined, due, case.late_after_s)
    metrics = {
        **account.as_dict(),
        **batch_figures(seen.lines),
        **_rates(case, seen, account),
        **_percentiles("latency", latency),
        **_percentiles("delay", delay),
        **_publishing(published),
    }
    metrics["emitted_twice"] = max(0, int(metrics["emitted"] or 0) - len(seen.joined))
    metrics["delay_slope_ms_per_s"] = slope_of(seconds, case.warmup_s)
    metrics["state_left"] = state_left(workload, seen.lines)
    return JoinOutcome(
        case,
        account,
        metrics,
        evaluate(case.gates(), metrics),
        latency.total.summary(),
        delay.total.summary(),
        tuple(seen.lines),
        tuple(seen.samples),
        seconds,
        recovery,
        tasks,
    )


def closing_state(workload: Workload) -> int:
    """The most rows of state that are left in the end: those that close the topics, in every join."""
    return CLOSING * (len(workload.lookups) + 1) * len(workload.lookups)


def state_left(workload: Workload, lines: Sequence[BatchLine]) -> int | None:
    if not workload.streaming:
        return 0
    return max(0, lines[-1].state_rows - closing_state(workload)) if lines else None


def _record(recorder: LatencyRecorder, joined: Joined, from_ns: Ints, start_ns: int, warmup_s: float) -> None:
    ours = (joined.numbers >= 1) & (joined.numbers <= len(from_ns))
    since = from_ns[joined.numbers[ours] - 1]
    measured = since >= start_ns + int(warmup_s * 1e9)
    recorder.record((joined.stored_ns[ours] - since)[measured] // 1000)


def _percentiles(name: str, recorder: LatencyRecorder) -> Figures:
    total = recorder.total
    micros = {p: total.percentile_us(p) for p in (50, 99)}
    return {f"{name}_ms_p{p}": None if us is None else us / 1000 for p, us in micros.items()}


def _rates(case: JoinCase, seen: Seen, account: JoinAccount) -> Figures:
    """Rows of all streaming topics a second: of a backlog by its micro-batches, live by the clock."""
    rows = sum(line.rows for line in seen.lines)
    rate = batch_figures(seen.lines)["batch_rows_per_s"]
    if seen.published is not None:
        rate = live_per_s(seen.lines, seen.published.start_epoch_ns)
    memory = [sample.memory_bytes for sample in seen.samples if sample.memory_bytes is not None]
    emitted_share = account.hits / account.facts
    return {
        "rows": rows,
        "events_per_s": rate,
        "target_per_s": case.rows_per_s,
        "designed_rate": case.workload.hit_rate,
        "expected_rate": account.expected_hits / account.facts,
        "join_rate": emitted_share,
        "memory_bytes_max": max(memory, default=None),
        "cpu_s_per_million": seen.cpu_s / rows * 1e6 if rows else None,
        "elapsed_s": seen.elapsed_s,
    }


def _publishing(published: Published | None) -> Figures:
    if published is None:
        return {}
    return {
        "unacked": published.rows - published.acked,
        "republished": published.republished,
        "slip_ms_p99": published.slip_ms_p99,
    }
