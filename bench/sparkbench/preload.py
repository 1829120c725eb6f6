"""The events of all turns: once in a JetStream stream, and the same bytes once more as JSON files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench.clock import RunClock
from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.ours import PATIENCE_S, Load, check_published, make_producer, run_to_end
from bench.schedule import ConstantRate
from spark_jobs.jetstream.fetch import fetch_range
from spark_jobs.jetstream.options import SourceOptions, parse_source

#: As many as the machine has cores, up to what the contract's partitions would feed.
TASKS = min(os.cpu_count() or 1, 16)
#: Events are stamped as if they had come at this rate: windows of a second then hold this many.
STAMPED_PER_S = 100_000
#: A broker that stores fewer than this is taken for dead.
SLOWEST_PER_S = 10_000


@dataclass(frozen=True)
class Preload:
    events: int
    batch_rows: int
    tasks: int
    folder: Path
    payload_bytes: int = 512
    #: How long ago the last event is stamped.
    age_s: int = 0

    @property
    def rows_per_file(self) -> int:
        return self.batch_rows // self.tasks


def source_options(broker: Broker) -> SourceOptions:
    endpoint = broker.endpoint
    return parse_source(
        {
            "servers": endpoint.url,
            "stream": STREAM,
            "format": "binary",
            "user": endpoint.user,
            "password": endpoint.password,
        }
    )


def fill_stream(broker: Broker, preload: Preload, storage: str) -> int:
    """Returns the first event's stamp, in epoch ms; the others follow at STAMPED_PER_S."""
    broker.empty_stream(storage)
    clock = RunClock()
    before_s = preload.age_s + preload.events / STAMPED_PER_S
    schedule = ConstantRate(clock.now_ns() - int(before_s * 1e9), STAMPED_PER_S)
    load = Load(preload.events, preload.payload_bytes)
    producer = make_producer(broker, load, schedule, clock, mock=False)
    run_to_end(producer, max(PATIENCE_S, preload.events / SLOWEST_PER_S))
    check_published(producer)
    return (schedule.start_ns + clock.epoch_offset_ns) // 1_000_000


def write_files(broker: Broker, preload: Preload) -> None:
    """Out of the stream itself, so that both sources hold the same bytes."""
    options = source_options(broker)
    for first in range(1, preload.events + 1, preload.rows_per_file):
        end = min(first + preload.rows_per_file, preload.events + 1)
        with (preload.folder / f"{first:09d}.json").open("wb") as file:
            for chunk in fetch_range(options, first, end):
                count = len(chunk.seqs)
                file.write(b"\n".join(chunk.batch.payloads()[:count]) + b"\n")
