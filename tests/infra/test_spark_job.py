"""The job as it is run: its own process, a real server; every row checked, also after kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.api import StorageType, StreamConfig

from bench.contract.event import Event, encode_event, value_of
from bench.contract.partition import partition_of
from bench.contract.result import Result, decode_result
from bench.engine.spark import spark_folders
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.infra.waiting import wait_until

pytestmark = pytest.mark.infra

ROOT = Path(__file__).resolve().parents[2]
WINDOW_MS = 2000
KEYS = 7
READY_S = 120.0


@pytest.fixture
def server() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        asyncio.run(make_streams(service))
        yield service


async def connect(server: LocalNats) -> nats.NATS:
    endpoint = server.endpoint
    return await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)


async def make_streams(server: LocalNats) -> None:
    client = await connect(server)
    for name, subject in (("EVENTS", "events.*"), ("RESULTS", "results.*.*")):
        config = StreamConfig(name=name, subjects=[subject], storage=StorageType.MEMORY)
        await client.jetstream().add_stream(config)
    await client.close()


class Producer:
    """Publishes one event every few milliseconds until told to stop; remembers each."""

    def __init__(self, server: LocalNats, run_id: str) -> None:
        self.events: list[Event] = []
        self._server, self._run_id = server, run_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._publish()))

    def __enter__(self) -> Producer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    async def _publish(self) -> None:
        client = await connect(self._server)
        while not self._stop.is_set():
            seq = len(self.events) + 1
            event = Event(self._run_id, seq, time.time_ns() // 1_000_000, f"k{seq % KEYS}", value_of(seq))
            subject = f"events.{partition_of(event.key)}"
            await client.jetstream().publish(subject, encode_event(event, 256))
            self.events.append(event)
            await asyncio.sleep(0.004)
        await client.close()


class Job:
    """The job's process and what it wrote."""

    def __init__(self, server: LocalNats, folder: Path, run_id: str, *more: str) -> None:
        endpoint = server.endpoint
        self.progress_file = folder / "progress.jsonl"
        arguments = [
            *("--servers", endpoint.url, "--run-id", run_id, "--checkpoint", str(folder / "checkpoint")),
            *("--window-ms", str(WINDOW_MS), "--trigger-ms", "200", "--master", "local[2]"),
            *("--progress-file", str(self.progress_file), *more),
        ]
        access = {"JETLAG_NATS_USER": endpoint.user, "JETLAG_NATS_PASSWORD": endpoint.password}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spark_jobs.window_aggregate", *arguments],
            cwd=ROOT,
            # What a killed job leaves is in the test's folder, and goes with it.
            env={**os.environ, **access, **spark_folders(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # one group for driver, JVM and workers: a crash takes them all
        )
        os.set_blocking(self.process.stdout.fileno(), False)  # type: ignore[union-attr]

    def wait_ready(self) -> None:
        def is_ready() -> bool:
            assert self.process.poll() is None, self.process.stderr.read()  # type: ignore[union-attr]
            return "READY" in (self.process.stdout.readline() or "")  # type: ignore[union-attr]

        wait_until(is_ready, READY_S, "the job is not ready", abort_on=(AssertionError,))

    def progress(self) -> list[dict[str, Any]]:
        if not self.progress_file.exists():
            return []
        return [json.loads(line) for line in self.progress_file.read_text().splitlines()]

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> tuple[int, str]:
        self.process.terminate()
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def results(server: LocalNats) -> list[tuple[str, Result]]:
    async def read() -> list[tuple[str, Result]]:
        client = await connect(server)
        count = (await client.jetstream().stream_info("RESULTS")).state.messages
        subscription = await client.jetstream().subscribe("results.>", ordered_consumer=True)
        messages = [await subscription.next_msg(timeout=10) for _ in range(count)]
        await client.close()
        return [(message.subject, decode_result(message.data)) for message in messages]

    return asyncio.run(read())


def counted(server: LocalNats) -> int:
    return sum(result.count for _, result in results(server))


def expected_rows(events: list[Event], run_id: str) -> dict[tuple[str, int], Result]:
    """The closed form by event time: one row per key and window."""
    rows: dict[tuple[str, int], Result] = {}
    for event in events:
        end_ms = event.producer_ts_ms // WINDOW_MS * WINDOW_MS + WINDOW_MS
        had = rows.get((event.key, end_ms), Result(run_id, event.key, end_ms, 0, 0, 0, 0))
        rows[event.key, end_ms] = Result(
            run_id,
            event.key,
            end_ms,
            had.count + 1,
            had.sum_value + event.value,
            max(had.seq, event.seq),
            max(had.producer_ts_ms, event.producer_ts_ms),
        )
    return rows


def test_processing_windows_are_exact_and_the_last_one_is_emitted(server: LocalNats, tmp_path: Path) -> None:
    """Results would miss events, hold another run's, come twice, or wait for a producer that has stopped."""
    job = Job(server, tmp_path, "mine", "--sink", "jetstream")
    try:
        job.wait_ready()
        with Producer(server, "other"), Producer(server, "mine") as producer:
            asyncio.run(publish_junk(server))
            wait_until(lambda: len(results(server)) >= 2 * KEYS, 30, "no windows are emitted")
        events = producer.events
        wait_until(lambda: counted(server) >= len(events), 30, "the last window is not emitted")
        code, errors = job.stop()
    finally:
        job.kill() if job.process.poll() is None else None
    rows = results(server)
    assert code == 0
    assert "Traceback" not in errors
    assert all(subject == f"results.spark.{partition_of(row.key)}" for subject, row in rows)
    assert max(Counter((row.key, row.window_end_ms) for _, row in rows).values()) == 1
    assert {row.run_id for _, row in rows} == {"mine"}
    for key in {event.key for event in events}:
        mine = [event for event in events if event.key == key]
        theirs = [row for _, row in rows if row.key == key]
        assert sum(row.count for row in theirs) == len(mine)
        assert sum(row.sum_value for row in theirs) == sum(event.value for event in mine)
        assert max(row.seq for row in theirs) == mine[-1].seq
    assert sum(line["rows"] for line in job.progress()) >= len(events)
    assert all(line["late_rows_dropped"] == 0 for line in job.progress())


async def publish_junk(server: LocalNats) -> None:
    client = await connect(server)
    for body in (b"", b"junk", b"{}", b'{"run_id":"mine","seq":"text"}'):
        await client.jetstream().publish("events.0", body)
    await client.close()


def test_kill_9_between_tick_and_close_loses_and_doubles_nothing(server: LocalNats, tmp_path: Path) -> None:
    """A crash at the worst moment, when a window's end is announced but not emitted, would change results."""
    arguments = ("--window-clock", "event", "--watermark-delay-ms", "500")
    first = Job(server, tmp_path, "run", *arguments)
    second: Job | None = None
    try:
        first.wait_ready()
        with Producer(server, "run") as producer:
            wait_until(lambda: len(results(server)) >= KEYS, 30, "no window is emitted")
            wait_until(lambda: tick_announced(first), 30, "no tick came", interval_s=0.01)
            first.kill()
            second = Job(server, tmp_path, "run", *arguments)
            second.wait_ready()
            time.sleep(WINDOW_MS / 1000)
        events = producer.events
        wait_until(lambda: counted(server) >= len(events), 30, "the last window is not emitted")
        code, errors = second.stop()
        assert code == 0, errors
    finally:
        for job in (first, second):
            if job is not None and job.process.poll() is None:
                job.kill()
    rows = [row for _, row in results(server)]
    expected = expected_rows(events, "run")
    assert len(rows) == len(expected)
    assert {(row.key, row.window_end_ms): row for row in rows} == expected


def tick_announced(job: Job) -> bool:
    offset = job.progress()[-1]["end_offset"]
    return bool(offset["tick"] > offset["floor"])


def test_a_missing_stream_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    """A harness could not tell what went wrong from a hundred lines of JVM."""
    with running(LocalNats()) as bare:
        assert isinstance(bare, LocalNats)
        job = Job(bare, tmp_path, "run")
        try:
            _, errors = job.process.communicate(timeout=READY_S)
        finally:
            if job.process.poll() is None:
                job.kill()
    told = [line for line in errors.splitlines() if line.startswith("window_aggregate")]
    assert told == ["window_aggregate: error: stream EVENTS does not exist on this server"]
    assert job.process.returncode == 1
    assert "Traceback" not in errors
