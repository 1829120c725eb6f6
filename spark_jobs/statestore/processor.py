"""The steps as a stateful processor of Spark: one grouping key a partition, one map state for everything."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.statestore.messages import decode
from spark_jobs.statestore.names import TWO_DOZEN
from spark_jobs.statestore.steps import Steps
from spark_jobs.statestore.store import KEY_SCHEMA, VALUE_SCHEMA, Counts, PipelinedStore

Layout = Literal["one", "variables"]
OUTPUT = StructType([StructField("kind", StringType()), StructField("body", StringType())])

#: When the next timer is due the partition must be called, with or without messages; not for every
#: millisecond that has a timer.
_WAKE_MS = 250


def state_names(layout: Layout) -> list[str]:
    return ["store"] if layout == "one" else [f"store{number:02d}" for number in range(TWO_DOZEN)]


def state_of(layout: Layout, key: str) -> str:
    """Timers have a state to themselves, or their scan would not begin with them."""
    if layout == "one":
        return "store"
    if key.startswith("t/"):
        return "store00"
    return f"store{1 + zlib.crc32(key.encode()) % (TWO_DOZEN - 1):02d}"


class WorkflowProcessor(StatefulProcessor):
    """Gives rows of kind `stats`, one a call, and `ended` and `timed-out`, one an event."""

    def __init__(self, layout: Layout, timeout_ms: int, operator: int = 0) -> None:
        self._layout = layout
        self._timeout_ms = timeout_ms
        self._operator = operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        names = state_names(self._layout)
        self._states = [handle.getMapState(name, KEY_SCHEMA, VALUE_SCHEMA) for name in names]

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        begun = time.perf_counter()
        numbered = [(row._seq, decode(row.value)) for row in rows]
        # Spark promises no order within a key.
        numbered.sort(key=lambda one: one[0])
        read_s = time.perf_counter() - begun
        store = self._store()
        steps = Steps(store, timerValues.getCurrentProcessingTimeInMs(), self._timeout_ms)
        steps.messages(numbered)
        yield from self._rows("messages", key, steps, store, begun, len(numbered), read_s)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        begun = time.perf_counter()
        store = self._store()
        steps = Steps(store, timerValues.getCurrentProcessingTimeInMs(), self._timeout_ms)
        steps.fire()
        yield from self._rows("timers", key, steps, store, begun, 0, 0.0)

    def close(self) -> None:
        pass

    def _store(self) -> PipelinedStore:
        layout = self._layout
        return PipelinedStore(self._handle, self._states, lambda key: state_of(layout, key), Counts())

    def _rows(
        self,
        what: str,
        key: Any,
        steps: Steps,
        store: PipelinedStore,
        begun: float,
        messages: int,
        read_s: float,
    ) -> Iterator[Row]:
        done = steps.close()
        if steps.next_due_ms is not None:
            self._handle.registerTimer(-(-steps.next_due_ms // _WAKE_MS) * _WAKE_MS)
        slot = f"{self._operator}.{key[0]}"
        stats = {
            "what": what,
            "slot": slot,
            "messages": messages,
            "ms": (time.perf_counter() - begun) * 1000,
            "read_ms": read_s * 1000,
            **store.counts.as_dict(),
            "start_ms": done.start_ms,
            "complete_ms": done.complete_ms,
            "windows": [json.loads(msgspec.json.encode(window)) for window in done.windows.values()],
            "totals": msgspec.to_builtins(steps.totals),
        }
        yield Row(kind="stats", body=json.dumps(stats))
        for output in done.outputs:
            yield Row(kind=output.kind, body=json.dumps({"slot": slot, **asdict(output)}))
