"""Where a task's time goes: waiting for events, parsing them, handing them over to the JVM.

Only with option `timings`, and into a folder of the executor's own machine: it is for measuring on one
machine. One JSON line a task, so that the log says as much for a million events as for ten.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
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
    wall_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    cpu_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    #: From the arrival of a chunk's first event until it is handed over: what batching adds to its latency.
    held_ms_p50: float = 0.0
    held_ms_p99: float = 0.0


class _Laps:
    def __init__(self, timings: Timings) -> None:
        self._timings = timings
        self._wall_s, self._cpu_s = time.perf_counter(), time.thread_time()

    def end(self, stage: str) -> None:
        wall_s, cpu_s = time.perf_counter(), time.thread_time()
        self._timings.wall_s[stage] += wall_s - self._wall_s
        self._timings.cpu_s[stage] += cpu_s - self._cpu_s
        self._wall_s, self._cpu_s = wall_s, cpu_s


def timed(
    read: Callable[[Callable[[Chunk], pa.RecordBatch]], Generator[pa.RecordBatch]],
    to_rows: Callable[[Chunk], pa.RecordBatch],
    folder: str,
) -> Iterator[pa.RecordBatch]:
    """What `read` gives with `to_rows`, as without us; what it took is appended to a file in `folder`."""
    timings, held_ns = Timings(), []
    laps = _Laps(timings)

    def take(chunk: Chunk) -> pa.RecordBatch:
        laps.end("fetch")
        rows = to_rows(chunk)
        laps.end("parse")
        held_ns.append(time.monotonic_ns() - int(chunk.batch.arrived_ns[0]))
        timings.rows += len(chunk.seqs)
        timings.chunks += 1
        return rows

    with closing(read(take)) as batches:  # ended with us: what is on its way must not meet the next range
        for rows in batches:
            laps.end("fetch")
            yield rows
            laps.end("hand_over")
    laps.end("fetch")
    if held_ns:
        p50, p99 = np.percentile(held_ns, (50, 99)) / 1e6
        timings.held_ms_p50, timings.held_ms_p99 = float(p50), float(p99)
    with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(asdict(timings)) + "\n")


def read_timings(folder: Path) -> Timings:
    """All tasks that told their time in `folder`; the held times are those of the task with the longest."""
    whole = Timings()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            one = Timings(**json.loads(line))
            whole.rows += one.rows
            whole.chunks += one.chunks
            for stage in STAGES:
                whole.wall_s[stage] += one.wall_s[stage]
                whole.cpu_s[stage] += one.cpu_s[stage]
            whole.held_ms_p50 = max(whole.held_ms_p50, one.held_ms_p50)
            whole.held_ms_p99 = max(whole.held_ms_p99, one.held_ms_p99)
    return whole
