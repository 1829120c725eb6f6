"""Turns of Spark: spark_jobs.throughput in a process of its own, its lines read as they come."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.driverbench.broker import STREAM, Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import RUN_ID
from bench.engine.spark import spark_environment
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.sparkbench.preload import Preload
from bench.sparkbench.turn import Turn, steady_per_s
from spark_jobs.throughput import PREFIX

START_WITHIN_S = 180.0


@contextmanager
def spark_turns(
    broker: Broker, preload: Preload, modes: list[str], conf: list[str], pids: list[int]
) -> Iterator[Iterator[Turn]]:
    """Plays `modes` in one Spark session; yields each turn as it ends."""
    leashed = Leashed("throughput")
    log = leashed.folder / "log"
    try:
        environment = spark_environment(broker.endpoint, leashed.folder)
        leashed.start(_command(broker, preload, modes, conf, pids), log, environment)
        yield _turns(log, len(modes), leashed.running, preload.events)
    finally:
        leashed.close()


def _command(
    broker: Broker, preload: Preload, modes: list[str], conf: list[str], pids: list[int]
) -> list[str]:
    words = [
        *("--servers", broker.endpoint.url),
        *("--stream", STREAM),
        *("--run-id", RUN_ID),
        *("--folder", str(preload.folder)),
        *("--turns", ",".join(modes)),
        *("--batch-rows", str(preload.batch_rows)),
        *("--files-per-trigger", str(preload.tasks)),
        *("--master", f"local[{preload.tasks}]"),
    ]
    for pid in pids:
        words += ["--server-pid", str(pid)]
    for pair in conf:
        words += ["--conf", pair]
    return [sys.executable, "-m", "spark_jobs.throughput", *words]


def _turns(log: Path, count: int, running: Callable[[], bool], events: int) -> Iterator[Turn]:
    for number in range(count):
        deadline = time.monotonic() + START_WITHIN_S
        while len(lines := told_lines(log, PREFIX)) <= number:
            if not running() or time.monotonic() > deadline:
                raise TurnFailed(f"spark did not end turn {number + 1} of {count}:\n{tail_of(log, 20)}")
            time.sleep(0.1)
        yield _turn(json.loads(lines[number]), events)


def told_lines(log: Path, prefix: str) -> list[str]:
    """The job's whole lines with this prefix, without it."""
    if not log.exists():
        return []
    whole = log.read_text(errors="replace").split("\n")[:-1]
    return [line.removeprefix(prefix) for line in whole if line.startswith(prefix)]


def _turn(told: dict[str, object], events: int) -> Turn:
    batches = told["batches"]
    assert isinstance(batches, list)
    rows = sum(batch["rows"] for batch in batches)
    if rows != events:
        raise TurnFailed(f"spark read {rows} of {events} events from {told['mode']}")
    return Turn(
        str(told["mode"]),
        steady_per_s([(batch["rows"], batch["trigger_ms"]) for batch in batches]),
        float(str(told["spark_cpu_s"])) / events * 1e6,
        float(str(told["server_cpu_s"])) / events * 1e6,
    )
