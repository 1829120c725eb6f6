"""Where a task's time goes: fetching events, parsing them, handing them over to the JVM.

Only with option `timings`, and into a folder of the executor's own machine: it is for measuring on one
machine. One JSON line a task, so that the log says as much for a million events as for ten.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from spark_jobs.jetstream.chunk import Chunk

STAGES = ("fetch", "parse", "hand_over")


@dataclass
class Timings:
    """Of one task, or of many together."""

    rows: int = 0
    chunks: int = 0
    cpu_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    #: From the arrival of a chunk's first event until it is handed over: what batching adds to its latency.
    held_ms_p50: float = 0.0
    held_ms_p99: float = 0.0


class Stopwatch:
    """Of one worker. Its tasks read themselves, or a thread reads ahead of them: each counts its own CPU."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / f"{os.getpid()}.jsonl"
        self._lock = threading.Lock()
        self._thread = threading.local()
        self._timings, self._held_ns = Timings(), list[int]()

    def _lap(self, stage: str) -> None:
        now_s = time.thread_time()
        began_s = getattr(self._thread, "began_s", now_s)
        self._thread.began_s = now_s
        with self._lock:
            self._timings.cpu_s[stage] += now_s - began_s

    def taking(self, to_rows: Callable[[Chunk], pa.RecordBatch]) -> Callable[[Chunk], pa.RecordBatch]:
        """`to_rows`, watched: what its thread did since the last chunk was fetching."""

        def take(chunk: Chunk) -> pa.RecordBatch:
            self._lap("fetch")
            rows = to_rows(chunk)
            self._lap("parse")
            with self._lock:
                self._held_ns.append(time.monotonic_ns() - int(chunk.batch.arrived_ns[0]))
                self._timings.rows += len(chunk.seqs)
                self._timings.chunks += 1
            return rows

        return take

    def task(self, batches: Generator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """`batches` as they are; at their end what was taken since the last task's is told."""
        self._thread.began_s = time.thread_time()
        with closing(batches):  # ended with us: what is on its way must not meet the next range
            for rows in batches:
                self._lap("fetch")
                yield rows
                self._lap("hand_over")
        self._lap("fetch")
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            timings, held_ns = self._timings, self._held_ns
            self._timings, self._held_ns = Timings(), []
        if held_ns:
            p50, p99 = np.percentile(held_ns, (50, 99)) / 1e6
            timings.held_ms_p50, timings.held_ms_p99 = float(p50), float(p99)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(timings)) + "\n")


@lru_cache(maxsize=1)
def stopwatch(folder: str) -> Stopwatch:
    """This worker's, as long as it measures into the same folder."""
    return Stopwatch(folder)


def read_timings(folder: Path) -> Timings:
    """All tasks that told their time in `folder`; the held times are those of the task with the longest."""
    whole = Timings()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            one = Timings(**json.loads(line))
            whole.rows += one.rows
            whole.chunks += one.chunks
            for stage in STAGES:
                whole.cpu_s[stage] += one.cpu_s[stage]
            whole.held_ms_p50 = max(whole.held_ms_p50, one.held_ms_p50)
            whole.held_ms_p99 = max(whole.held_ms_p99, one.held_ms_p99)
    return whole
