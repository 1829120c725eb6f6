"""Spark's account of every micro-batch, its state store's and RocksDB's figures included."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import QueryProgressEvent

from spark_jobs.progress import ProgressFile, line_of
from spark_jobs.statestore.names import PROGRESS, STREAMS


class StateProgress(ProgressFile):
    """Appends to progress.jsonl, and keeps the last progress whole in streams-metrics.json."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / PROGRESS)
        self._last = folder / STREAMS

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        progress = json.loads(event.progress.json)
        assert self._file is not None
        self._file.write(json.dumps(state_line(progress)) + "\n")
        partial = self._last.with_suffix(".new")
        partial.write_text(json.dumps(progress))
        partial.replace(self._last)
        self.first_batch.set()


def state_line(progress: dict[str, Any]) -> dict[str, Any]:
    """Over all stateful operators: times and counts summed."""
    states = progress.get("stateOperators") or []
    custom: dict[str, int] = {}
    for state in states:
        for name, value in state.get("customMetrics", {}).items():
            custom[name] = custom.get(name, 0) + int(value)
    return {
        **line_of(progress),
        "told_ms": time.time_ns() // 1_000_000,
        "state_commit_ms": sum(state.get("commitTimeMs", 0) for state in states),
        "state_memory_bytes": sum(state.get("memoryUsedBytes", 0) for state in states),
        "state": custom,
    }
