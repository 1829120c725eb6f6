"""Where a batch's rows go: endings into a stream, metrics windows and figures into files beside it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame

from spark_jobs.jetstream.options import SinkOptions
from spark_jobs.jetstream.sink import publish_rows
from spark_jobs.statestore.names import BATCHES, ENDED_SUBJECT, WINDOWS
from spark_jobs.statestore.values import MetricsWindow, encode

#: Some eight hours of them.
KEPT_WINDOWS = 1_000


class BatchSink:
    """For foreachBatch. A batch that is run again says the same again: endings carry a message id, windows
    are replaced, and a reader of the figures takes the last line of a batch.
    """

    def __init__(self, folder: Path, options: SinkOptions) -> None:
        self._options = options
        self._lines = (folder / BATCHES).open("a", buffering=1)
        self._windows_file = folder / WINDOWS
        #: By window and partition.
        self._windows: dict[str, dict[str, Any]] = {}
        if self._windows_file.exists():
            self._windows = json.loads(self._windows_file.read_text())["parts"]
        self.first_batch = threading.Event()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        found = rows.collect()
        stats = [json.loads(row.body) for row in found if row.kind == "stats"]
        told = [(row.kind, json.loads(row.body)) for row in found if row.kind != "stats"]
        if told:
            self._publish(told)
        line = {"batch_id": batch_id, "done_ms": time.time_ns() // 1_000_000, "stats": stats}
        self._lines.write(json.dumps(line) + "\n")
        if any(one["windows"] for one in stats):
            self._keep_windows(stats)
        self.first_batch.set()

    def _publish(self, told: list[tuple[str, dict[str, Any]]]) -> None:
        ids = [f"{body['slot']}|{body['number']}|{kind}|{body['of']}" for kind, body in told]
        columns = (
            [f"{ENDED_SUBJECT}.{kind}" for kind, _ in told],
            ids,
            [json.dumps(body) for _, body in told],
        )
        publish_rows(self._options, [tuple(pa.array(column).cast(pa.binary()) for column in columns)])

    def _keep_windows(self, stats: list[dict[str, Any]]) -> None:
        for one in stats:
            for window in one["windows"]:
                self._windows.setdefault(str(window["timestamp"]), {})[str(one["slot"])] = window
        for old in sorted(self._windows)[:-KEPT_WINDOWS]:
            del self._windows[old]
        content = {"windows": [_joined(parts) for _, parts in sorted(self._windows.items())]}
        partial = self._windows_file.with_suffix(".new")
        partial.write_text(json.dumps({**content, "parts": self._windows}))
        partial.replace(self._windows_file)


def _joined(parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    windows = [msgspec.convert(part, MetricsWindow) for part in parts.values()]
    whole = windows[0]
    for other in windows[1:]:
        whole.add(other)
    joined: dict[str, Any] = json.loads(encode(whole))
    return joined
