"""One JSON line per micro-batch, out of Spark's own StreamingQueryProgress."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


def line_of(progress: dict[str, Any]) -> dict[str, Any]:
    """What a reader of a run needs of one progress, by plain names with units."""
    source = progress["sources"][0]
    end, latest = _offset(source.get("endOffset")), _offset(source.get("latestOffset"))
    states = progress.get("stateOperators") or [{}]
    return {
        "batch_id": progress["batchId"],
        "timestamp": progress["timestamp"],
        "rows": progress["numInputRows"],
        "rows_per_s": progress.get("processedRowsPerSecond", 0.0),
        "trigger_ms": progress["durationMs"].get("triggerExecution", 0),
        "durations_ms": progress["durationMs"],
        "state_rows": states[0].get("numRowsTotal", 0),
        "late_rows_dropped": states[0].get("numRowsDroppedByWatermark", 0),
        "end_offset": end,
        "backlog": max(0, latest.get("seq", 0) - end.get("seq", 0)) if latest else 0,
        "watermark": (progress.get("eventTime") or {}).get("watermark"),
        "sink_rows": progress["sink"].get("numOutputRows", -1),
    }


def _offset(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        given = json.loads(given)
    return given if isinstance(given, dict) else {}


class ProgressFile(StreamingQueryListener):
    """Appends lines to `path`, if there is one; `first_batch` is set once the query has done one."""

    def __init__(self, path: Path | None, line: Callable[[dict[str, Any]], dict[str, Any]] = line_of) -> None:
        self._line = line
        self._file = path.open("a", buffering=1) if path else None
        self.first_batch = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's names
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        line = self._line(json.loads(event.progress.json))
        if self._file:
            self._file.write(json.dumps(line) + "\n")
        self.first_batch.set()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        pass
