"""Spark's turns: spark_jobs.source_turns in a process of its own, which plays what is ordered."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bench.driverbench.broker import STREAM
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import RUN_ID
from bench.engine.ordered_spark import OrderedSpark
from bench.infra.endpoint import NatsEndpoint
from bench.source.backlog import Backlog
from bench.source.turn import JETSTREAM, Mode, Pipeline, SourceTurn
from bench.sparkbench.turn import steady_per_s
from spark_jobs.source_turns import Order
from spark_jobs.throughput import PREFIX

TURN_WITHIN_S = 240.0
#: The code that plans and commits a micro-batch is compiled when it has run some hundred times, whatever the
#: batch's size: many small ones come first. 80, as a query keeps account of its last 100.
_REHEARSED_TURNS, _REHEARSED_BATCHES = 2, 80


class SparkSource(OrderedSpark):
    """A context: Spark is started once and plays all turns."""

    variant = "spark"
    least_efficiency = 0.7
    warms_up = True  # the JVM compiles

    def __init__(self, nats: NatsEndpoint, server_pids: list[int], tasks: int) -> None:
        super().__init__("source", nats, PREFIX)
        self._server_pids, self._tasks = server_pids, tasks

    def rehearse(self, backlog: Backlog, pipeline: Pipeline) -> None:
        rows = -(-backlog.messages // _REHEARSED_BATCHES)
        for _ in range(_REHEARSED_TURNS):
            self.play(backlog, JETSTREAM, pipeline, {"maxOffsetsPerTrigger": str(rows)})

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
        told = self._answer(asdict(order), TURN_WITHIN_S)
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
            steady_per_s(told["batch_ms"]),
        )

    def settings(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("pyspark"), "master": f"local[{self._tasks}]"}

    def _command(self) -> list[str]:
        words = ["--orders", str(self._orders), "--servers", self._nats.url]
        words += ["--master", f"local[{self._tasks}]"]
        for pid in self._server_pids:
            words += ["--server-pid", str(pid)]
        return ["spark_jobs.source_turns", *words]
