"""A job of spark_jobs in a process of its own that follows orders, one line of JSON each."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Self

from bench.driverbench.errors import TurnFailed
from bench.engine.spark import spark_environment
from bench.infra.endpoint import NatsEndpoint
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.sparkbench.spark_turns import told_lines

_END_WITHIN_S = 20.0
_POLL_S = 0.02


class OrderedSpark:
    """A context: Spark is started once and follows all orders."""

    def __init__(self, name: str, nats: NatsEndpoint, prefix: str) -> None:
        self._name, self._nats, self._prefix = name, nats, prefix
        self._answers = 0

    def _command(self) -> list[str]:
        """The module and its words, after the interpreter's own."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._leashed = Leashed(self._name)
        folder = self._leashed.folder
        self._log, self._orders = folder / "log", folder / "orders"
        try:
            self._launch()
        except BaseException:
            self._leashed.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._leashed.running():
                self._append({"end": True})
                deadline = time.monotonic() + _END_WITHIN_S
                while self._leashed.running() and time.monotonic() < deadline:
                    time.sleep(_POLL_S)
        finally:
            self._leashed.close()

    @property
    def folder(self) -> Path:
        return self._leashed.folder

    def _launch(self) -> int:
        """With no orders yet: a process that is started again must not follow those of the one before."""
        self._orders.write_text("")
        environment = spark_environment(self._nats, self._leashed.folder)
        return self._leashed.start([sys.executable, "-m", *self._command()], self._log, environment)

    def log_lines(self) -> int:
        return len(self._log.read_text(errors="replace").splitlines())

    def _append(self, order: dict[str, Any]) -> None:
        with self._orders.open("a") as file:
            file.write(json.dumps(order) + "\n")

    def _answer(self, order: dict[str, Any] | None, within_s: float) -> dict[str, Any]:
        """Give an order and wait for the next line; None only waits."""
        if order is not None:
            self._append(order)
        deadline = time.monotonic() + within_s
        while (told := self._next_line()) is None:
            if not self._leashed.running() or time.monotonic() > deadline:
                raise TurnFailed(f"spark did not end its turn:\n{tail_of(self._log, 20)}")
            time.sleep(_POLL_S)
        if told.get("error"):
            raise TurnFailed(f"spark's turn broke: {told['error']}")
        return told

    def _next_line(self) -> dict[str, Any] | None:
        lines = told_lines(self._log, self._prefix)
        if len(lines) <= self._answers:
            return None
        self._answers += 1
        told: dict[str, Any] = json.loads(lines[self._answers - 1])
        return told
