"""Spark's turns: spark_jobs.source_turns in a process of its own, which plays what is ordered."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bench.driverbench.broker import STREAM
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import RUN_ID
from bench.engine.spark import spark_environment
from bench.infra.endpoint import NatsEndpoint
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.source.backlog import Backlog
from bench.source.turn import Mode, Pipeline, SourceTurn
from bench.sparkbench.spark_turns import told_lines
from spark_jobs.source_turns import Order
from spark_jobs.throughput import PREFIX

TURN_WITHIN_S = 240.0
_END_WITHIN_S = 20.0
_POLL_S = 0.02


class SparkSource:
    """A context: Spark is started once and plays all turns."""

    variant = "spark"
    least_efficiency = 0.7

    def __init__(self, nats: NatsEndpoint, server_pids: list[int], tasks: int) -> None:
        self._nats, self._server_pids, self._tasks = nats, server_pids, tasks
        self._turns = 0

    def __enter__(self) -> SparkSource:
        self._leashed = Leashed("source")
        folder = self._leashed.folder
        self._log, self._orders = folder / "log", folder / "orders"
        self._orders.touch()
        try:
            self._leashed.start(self._command(), self._log, spark_environment(self._nats, folder))
        except BaseException:
            self._leashed.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._append({"end": True})
            deadline = time.monotonic() + _END_WITHIN_S
            while self._leashed.running() and time.monotonic() < deadline:
                time.sleep(_POLL_S)
        finally:
            self._leashed.close()

    def play(
        self,
        backlog: Backlog,
        mode: Mode,
        pipeline: Pipeline,
        options: Mapping[str, str] | None = None,
        window_ms: int = 1_000,
    ) -> SourceTurn:
        """All of the backlog; with option startingOffset only what is from there on."""
        preload, given = backlog.preload, dict(options or {})
        order = Order(
            mode,
            pipeline,
            RUN_ID,
            STREAM,
            str(preload.folder),
            preload.batch_rows,
            preload.tasks,
            window_ms,
            given,
        )
        told = self._answer(asdict(order))
        wanted = backlog.messages - int(given.get("startingOffset", "1")) + 1
        if told["rows"] != wanted:
            raise TurnFailed(f"spark read {told['rows']} of {wanted} messages from {mode}")
        return SourceTurn(
            mode,
            pipeline,
            told["rows"],
            told["durations_ms"]["triggerExecution"] / 1000,
            told["totals"].get("count", 0),
            told["totals"].get("sum_value", 0),
            told["jvm_cpu_s"] + told["python_cpu_s"],
            told["server_cpu_s"],
            told,
            _steady_per_s(told["batch_ms"]),
        )

    def log_lines(self) -> int:
        return len(self._log.read_text(errors="replace").splitlines())

    def settings(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("pyspark"), "master": f"local[{self._tasks}]"}

    def _answer(self, order: dict[str, Any]) -> dict[str, Any]:
        self._append(order)
        self._turns += 1
        deadline = time.monotonic() + TURN_WITHIN_S
        while len(lines := told_lines(self._log, PREFIX)) < self._turns:
            if not self._leashed.running() or time.monotonic() > deadline:
                raise TurnFailed(f"spark did not end its turn:\n{tail_of(self._log, 20)}")
            time.sleep(_POLL_S)
        told: dict[str, Any] = json.loads(lines[self._turns - 1])
        if told["error"]:
            raise TurnFailed(f"spark's turn broke: {told['error']}")
        return told

    def _append(self, order: dict[str, Any]) -> None:
        with self._orders.open("a") as file:
            file.write(json.dumps(order) + "\n")

    def _command(self) -> list[str]:
        words = ["--orders", str(self._orders), "--servers", self._nats.url]
        words += ["--master", f"local[{self._tasks}]"]
        for pid in self._server_pids:
            words += ["--server-pid", str(pid)]
        return [sys.executable, "-m", "spark_jobs.source_turns", *words]


def _steady_per_s(batches: list[tuple[int, int]]) -> float:
    """Without the first micro-batch, where there are others: in it a query starts its planner and workers."""
    counted = batches[1:] or batches
    return sum(rows for rows, _ in counted) / sum(ms for _, ms in counted) * 1000
