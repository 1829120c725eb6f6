"""The suite's tables, as Markdown for the terminal and the docs and as cells for the page."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.suite_page import DASH, Table
from bench.source.breakdown import Stage
from bench.source.growth import Growth
from bench.source.outcome import SourceOutcome
from bench.source.sweep import Point, front
from bench.verdict import Verdict

_CASES = (
    *("engine", "pipeline", "events", "verdict", "raw fetch/s", "files/s", "source/s", "efficiency", "bound"),
    *("target/s", "engine CPU s/M", "server CPU s/M", "wrong count, sum"),
)
_FRONT = (
    *("fetch batch", "linger ms", "partitions", "events/s", "held p50 ms", "held p99 ms"),
    *("events a chunk", ""),
)
_GROWTH = ("events", "bytes", "batches", "events/s", "MB/s", "Spark CPU s/M", "server CPU s/M", "exact")
_STAGES = ("stage", "CPU s/M", "ms a micro-batch")


def cases_table(outcomes: Sequence[SourceOutcome], not_run: Sequence[tuple[str, str]]) -> Table:
    rows = [_case(one) for one in outcomes]
    missing = [(engine, DASH, DASH, f"not run: {why}", *[DASH] * 9) for engine, why in not_run]
    return [_CASES, *rows, *missing]


def _case(one: SourceOutcome) -> tuple[str, ...]:
    metrics, verdict = one.metrics, one.report.verdict
    head = (one.engine, one.pipeline, f"{one.events:,}", verdict.value)
    if verdict is Verdict.INVALID:
        return (*head, *[DASH] * (len(_CASES) - len(head)))
    bounds = [result.gate.bound for result in one.report.results if result.gate.metric == "efficiency"]
    return (
        *head,
        *(_number(metrics[name]) for name in ("raw_per_s", "file_per_s", "source_per_s")),
        _number(metrics["efficiency"], 2),
        f"≥ {bounds[0]:g}" if bounds else "not gated",
        _target(metrics["source_per_s"], metrics["target_per_s"]),
        _number(metrics["engine_cpu_s_per_million"], 1),
        _number(metrics["server_cpu_s_per_million"], 1),
        f"{_number(metrics['wrong_count'])}, {_number(metrics['wrong_sum'])}",
    )


def _target(seen: float | None, wanted: float | None) -> str:
    if seen is None or wanted is None:
        return DASH
    return f"{wanted:,.0f}: {'met' if seen >= wanted else 'missed'}"


def front_table(points: Sequence[Point]) -> Table:
    """The cells that no other beats, and the default."""
    on_front = front(points)
    beside = [point for point in points if point.cell.is_default and point not in on_front]
    return [_FRONT, *(_point(point, point in on_front) for point in [*on_front, *beside])]


def _point(point: Point, on_front: bool) -> tuple[str, ...]:
    cell = point.cell
    marks = [word for word, holds in (("front", on_front), ("default", cell.is_default)) if holds]
    return (
        f"{cell.fetch_batch:,}",
        str(cell.linger_ms),
        str(cell.partitions),
        _number(point.events_per_s),
        _number(point.held_ms_p50, 2),
        _number(point.held_ms_p99, 2),
        _number(point.events / point.chunks, 1),
        ", ".join(marks),
    )


def growth_table(rows: Sequence[Growth]) -> Table:
    return [_GROWTH, *(_growth(row) for row in rows)]


def _growth(row: Growth) -> tuple[str, ...]:
    return (
        f"{row.events:,}",
        f"{row.payload_bytes:,}",
        str(row.batches),
        _number(row.events_per_s),
        _number(row.bytes_per_s / 1e6, 1),
        _number(row.spark_cpu_s_per_million, 1),
        _number(row.server_cpu_s_per_million, 1),
        "yes" if row.exact else "NO",
    )


def stages_table(rows: Sequence[Stage]) -> Table:
    cells = [(row.name, _number(row.cpu_s_per_million, 2), _number(row.wall_ms_per_batch, 1)) for row in rows]
    return [_STAGES, *cells]


def _number(value: float | int | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"
