"""The suite's tables, as cells."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.suite_page import DASH, Table
from bench.statestore.outcome import GOAL_MB_PER_S, ScenarioOutcome
from bench.statestore.restore import Restore
from bench.statestore.tuning import Tuned
from bench.verdict import Verdict

_SPEED = (
    *("scenario", "verdict", "workflows", "payload", "state MB", "messages/s", "MB/s written"),
    *("of the goal of 30", "a call, µs", "batch ms p50 / max", "commit ms p50 / max", "longest pause ms"),
)
_LATENCY = (
    "scenario",
    "messages/s",
    "task start ms p50 / p99",
    "task complete ms p50 / p99",
    "longest pause ms",
)
_DISK = (
    *("scenario", "put MB", "compacted MB", "RocksDB's tables MB", "checkpoint MB", "checkpoint ÷ compacted"),
    *("RocksDB wrote MB", "write amplification"),
)
_LEDGER = ("scenario", "workflows", "TaskRuns", "timers", "time-outs", "late completions", "lost or twice")
_RESTORE = (
    *("stores", "partitions", "", "state MB", "restore s", "first batch s", "later batch s"),
    *("Spark's load times, summed, s", "work: messages/s", "work: MB/s written"),
)
_TUNED = (
    *("setting", "messages/s", "MB/s written", "batch ms p50", "commit ms p50 / max", "longest pause ms"),
    *("checkpoint ÷ compacted", "JVM and workers MB"),
)


def speed_table(outcomes: Sequence[ScenarioOutcome]) -> Table:
    return [_SPEED, *(_speed(one) for one in outcomes)]


def _speed(one: ScenarioOutcome) -> tuple[str, ...]:
    verdict, seen = one.report.verdict, one.measured
    head = (one.name, verdict.value)
    if verdict is Verdict.INVALID or seen is None:
        return (*head, *[DASH] * (len(_SPEED) - len(head)))
    return (
        *head,
        f"{one.load['workflows']:,}",
        f"{one.load['size']:,} B",
        number(one.disk.logical_bytes / 1e6),
        number(seen.messages_per_s),
        number(seen.mb_per_s, 1),
        f"{seen.mb_per_s / GOAL_MB_PER_S:.0%}",
        number(seen.call_us),
        f"{number(seen.batch_ms_p50)} / {number(seen.batch_ms_max)}",
        f"{number(seen.commit_ms_p50)} / {number(seen.commit_ms_max)}",
        number(seen.pause_ms_max),
    )


def latency_table(outcomes: Sequence[ScenarioOutcome]) -> Table:
    return [_LATENCY, *(_latency(one) for one in outcomes if one.paced is not None)]


def _latency(one: ScenarioOutcome) -> tuple[str, ...]:
    seen = one.paced
    assert seen is not None
    return (
        one.name,
        number(one.paced_per_s),
        f"{number(seen.start_ms_p50)} / {number(seen.start_ms_p99)}",
        f"{number(seen.complete_ms_p50)} / {number(seen.complete_ms_p99)}",
        number(seen.pause_ms_max),
    )


def disk_table(outcomes: Sequence[ScenarioOutcome]) -> Table:
    return [_DISK, *(_disk(one) for one in outcomes)]


def _disk(one: ScenarioOutcome) -> tuple[str, ...]:
    disk = one.disk
    sizes = (disk.put_bytes, disk.logical_bytes, disk.tables_bytes, disk.checkpoint_bytes)
    return (
        one.name,
        *(number(size / 1e6, 1) for size in sizes),
        number(disk.disk_share, 2),
        number(disk.written_bytes / 1e6, 1),
        number(disk.amplification, 2),
    )


def ledger_table(outcomes: Sequence[ScenarioOutcome]) -> Table:
    return [_LEDGER, *(_ledger(one) for one in outcomes)]


def _ledger(one: ScenarioOutcome) -> tuple[str, ...]:
    names = ("workflows", "task_runs", "timers", "time_outs", "completes_late")
    wrong = sum(abs(result.observed or 0) for result in one.report.results)
    return (one.name, *(number(one.metrics[name]) for name in names), number(wrong))


def restore_table(rows: Sequence[Restore]) -> Table:
    return [_RESTORE, *(_restore(row) for row in rows)]


def _restore(row: Restore) -> tuple[str, ...]:
    return (
        row.stores,
        str(row.partitions),
        row.note,
        number(row.state_bytes / 1e6),
        number(row.restore_s, 2),
        number(row.first_s, 2),
        number(row.later_s, 2),
        number(row.load_s, 2),
        number(row.messages_per_s),
        number(row.mb_per_s, 2),
    )


def tuning_table(rows: Sequence[Tuned]) -> Table:
    return [_TUNED, *(_tuned(row) for row in rows)]


def _tuned(row: Tuned) -> tuple[str, ...]:
    seen, disk = row.measured, row.disk
    return (
        row.name,
        number(seen.messages_per_s),
        number(seen.mb_per_s, 1),
        number(seen.batch_ms_p50),
        f"{number(seen.commit_ms_p50)} / {number(seen.commit_ms_max)}",
        number(seen.pause_ms_max),
        number(disk.disk_share, 2),
        number(row.memory_bytes / 1e6),
    )


def number(value: float | int | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"
