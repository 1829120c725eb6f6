"""The events of all turns: once in a JetStream stream, and the same bytes once more as JSON files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.clock import RunClock
from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.ours import Load, check_published, make_producer, run_to_end
from bench.schedule import ConstantRate
from spark_jobs.jetstream.fetch import fetch_range
from spark_jobs.jetstream.options import SourceOptions, parse_source

#: Events are stamped as if they had come at this rate: windows of a second then hold this many.
STAMPED_PER_S = 100_000


@dataclass(frozen=True)
class Preload:
    events: int
    batch_rows: int
    tasks: int
    folder: Path

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


def fill_stream(broker: Broker, preload: Preload, storage: str) -> None:
    broker.empty_stream(storage)
    clock = RunClock()
    start_ns = clock.now_ns() - preload.events * 1_000_000_000 // STAMPED_PER_S
    schedule = ConstantRate(start_ns, STAMPED_PER_S)
    producer = make_producer(broker, Load(preload.events), schedule, clock, mock=False)
    run_to_end(producer)
    check_published(producer)


def write_files(broker: Broker, preload: Preload) -> None:
    """Out of the stream itself, so that both sources hold the same bytes."""
    options = source_options(broker)
    for first in range(1, preload.events + 1, preload.rows_per_file):
        end = min(first + preload.rows_per_file, preload.events + 1)
        with (preload.folder / f"{first:09d}.json").open("wb") as file:
            for chunk in fetch_range(options, first, end):
                count = len(chunk.seqs)
                file.write(b"\n".join(chunk.batch.payloads()[:count]) + b"\n")
