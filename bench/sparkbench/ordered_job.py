"""A job of spark_jobs that plays turns as ordered (spark_jobs/orders.py), in a process of its own."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from bench.driverbench.errors import TurnFailed
from bench.engine.spark import spark_environment
from bench.infra.endpoint import NatsEndpoint
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.sparkbench.spark_turns import told_lines
from spark_jobs.throughput import PREFIX

_END_WITHIN_S = 20.0
_POLL_S = 0.02


class OrderedJob:
    """A context: Spark is started once and plays all turns."""

    def __init__(self, name: str, module: str, nats: NatsEndpoint, words: list[str], within_s: float) -> None:
        self._name, self._module, self._nats, self._words = name, module, nats, words
        self._within_s = within_s
        self._turns = 0

    def __enter__(self) -> OrderedJob:
        self._leashed = Leashed(self._name)
        folder = self._leashed.folder
        self._log, self._orders = folder / "log", folder / "orders"
        self._orders.touch()
        words = ["--orders", str(self._orders), "--servers", self._nats.url, *self._words]
        try:
            command = [sys.executable, "-m", self._module, *words]
            self._leashed.start(command, self._log, spark_environment(self._nats, folder))
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

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        self._append(order)
        self._turns += 1
        deadline = time.monotonic() + self._within_s
        while len(lines := told_lines(self._log, PREFIX)) < self._turns:
            if not self._leashed.running() or time.monotonic() > deadline:
                raise TurnFailed(f"spark did not end its turn:\n{tail_of(self._log, 20)}")
            time.sleep(_POLL_S)
        told: dict[str, Any] = json.loads(lines[self._turns - 1])
        if told["error"]:
            raise TurnFailed(f"spark's turn broke: {told['error']}")
        return told

    def log_lines(self) -> int:
        return len(self._log.read_text(errors="replace").splitlines())

    def _append(self, order: dict[str, Any]) -> None:
        with self._orders.open("a") as file:
            file.write(json.dumps(order) + "\n")
