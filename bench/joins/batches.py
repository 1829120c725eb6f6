"""Spark's own account of a join, micro-batch by micro-batch, as figures. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Figures = dict[str, float | int | None]


@dataclass(frozen=True)
class BatchLine:
    batch_id: int
    at_ns: int
    rows: int
    trigger_ms: int
    add_ms: int
    emitted: int
    state_rows: int
    state_bytes: int
    state_updated: int
    state_removed: int
    state_ms: int
    late_dropped: int
    #: Of RocksDB, where it keeps the state.
    cache_bytes: int | None = None


def batch_line(progress: dict[str, Any]) -> BatchLine:
    states = progress.get("stateOperators") or []

    def summed(name: str) -> int:
        return sum(int(state.get(name, 0)) for state in states)

    caches = [state.get("customMetrics", {}).get("rocksdbBlockCacheUsage") for state in states]
    known = [int(cache) for cache in caches if cache is not None]
    return BatchLine(
        batch_id=progress["batchId"],
        at_ns=progress["at_ns"],
        rows=progress["numInputRows"],
        trigger_ms=progress["durationMs"].get("triggerExecution", 0),
        add_ms=progress["durationMs"].get("addBatch", 0),
        emitted=int((progress.get("observedMetrics") or {}).get("emitted", {}).get("rows") or 0),
        state_rows=summed("numRowsTotal"),
        state_bytes=summed("memoryUsedBytes"),
        state_updated=summed("numRowsUpdated"),
        state_removed=summed("numRowsRemoved"),
        state_ms=summed("allUpdatesTimeMs"),
        late_dropped=summed("numRowsDroppedByWatermark"),
        cache_bytes=sum(known) if known else None,
    )


def batch_lines(progress: Sequence[dict[str, Any]]) -> list[BatchLine]:
    """One a micro-batch: one that was told twice, before and after a crash, counts once."""
    return list({line.batch_id: line for line in map(batch_line, progress)}.values())


def batch_figures(lines: Sequence[BatchLine]) -> Figures:
    with_rows = [line for line in lines if line.rows]
    caches = [line.cache_bytes for line in lines if line.cache_bytes is not None]
    updated = sum(line.state_updated for line in lines)
    return {
        "batches": len(with_rows),
        "batch_rows": statistics.median(line.rows for line in with_rows) if with_rows else None,
        "batch_ms_p50": statistics.median(line.trigger_ms for line in with_rows) if with_rows else None,
        "execution_ms_p50": statistics.median(line.add_ms for line in with_rows) if with_rows else None,
        "emitted": sum(line.emitted for line in lines),
        "late_dropped": sum(line.late_dropped for line in lines),
        "state_rows_max": max((line.state_rows for line in lines), default=0),
        "state_bytes_max": max((line.state_bytes for line in lines), default=0),
        "state_rows_end": lines[-1].state_rows if lines else None,
        "evictions": sum(line.state_removed for line in lines),
        # Spark adds up its tasks; what a lookup takes is the time of one row's look and update.
        "lookup_us": sum(line.state_ms for line in lines) * 1000 / updated if updated else None,
        "cache_bytes_max": max(caches) if caches else None,
        "batch_rows_per_s": steady_per_s(with_rows),
    }


def steady_per_s(with_rows: Sequence[BatchLine]) -> float | None:
    """Without the first micro-batch, where there are others: in it a query starts its planner and workers."""
    counted = with_rows[1:] or with_rows
    took_ms = sum(line.trigger_ms for line in counted)
    return sum(line.rows for line in counted) / took_ms * 1000 if took_ms else None


def live_per_s(lines: Sequence[BatchLine], start_ns: int) -> float | None:
    """Rows a second by the clock, from the end of the first micro-batch to the end of the last with rows.

    Where a slow start put most of a short case into the first: of all rows, from when the first was due. The
    few that are left would be taken for a standstill.
    """
    with_rows = [line for line in lines if line.rows]
    if not with_rows:
        return None
    rows, since_ns = sum(line.rows for line in with_rows[1:]), with_rows[0].at_ns
    if rows < with_rows[0].rows:
        rows, since_ns = rows + with_rows[0].rows, start_ns
    took_ns = with_rows[-1].at_ns - since_ns
    return rows / took_ns * 1e9 if took_ns > 0 else None
