"""The baseline: the source's own reader with nothing behind it, one process a core."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from threading import Barrier

from bench.driverbench.broker import Broker
from bench.driverbench.errors import TurnFailed
from bench.sparkbench.preload import Preload, source_options
from bench.sparkbench.turn import RAW, Turn
from spark_jobs.jetstream.direct import events_a_request
from spark_jobs.jetstream.fetch import read_range
from spark_jobs.jetstream.link import with_link
from spark_jobs.jetstream.options import SourceOptions
from spark_jobs.jetstream.stream import read_state

PATIENCE_S = 120.0


def fetch_raw(broker: Broker, preload: Preload) -> Turn:
    """All events once; the processes are started before the clock."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(preload.tasks + 1)
    bounds = [1 + preload.events * part // preload.tasks for part in range(preload.tasks + 1)]
    readers = [
        context.Process(target=_read, args=(source_options(broker), first, end, barrier))
        for first, end in itertools.pairwise(bounds)
    ]
    for reader in readers:
        reader.start()
    barrier.wait(PATIENCE_S)
    started_s, server_s, ours_s = time.monotonic(), broker.cpu_s(), _children_cpu_s()
    for reader in readers:
        reader.join(PATIENCE_S)
    elapsed_s = time.monotonic() - started_s
    if any(reader.exitcode != 0 for reader in readers):
        raise TurnFailed("a raw reader did not get all its events")
    return Turn(
        RAW,
        preload.events / elapsed_s,
        (_children_cpu_s() - ours_s) / preload.events * 1e6,
        (broker.cpu_s() - server_s) / preload.events * 1e6,
    )


def _read(options: SourceOptions, first: int, end: int, barrier: Barrier) -> None:
    state = with_link(options, lambda link: read_state(link, options.stream))
    direct = events_a_request(state, options.fetch_batch)
    barrier.wait(PATIENCE_S)
    seen = sum(read_range(options, first, end, direct, lambda chunk: len(chunk.seqs)))
    if seen != end - first:
        raise SystemExit(1)


def _children_cpu_s() -> float:
    """Of children that have ended and been waited for."""
    times = os.times()
    return times.children_user + times.children_system
