"""Looks after an engine or a sink during a run: keeps what it tells of itself, notices when it is down."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from bench.engine.protocol import EngineError
from bench.runfiles import RunFiles

LOOK_EVERY_S = 0.25
#: Down for this long and nobody started it again: the run has nothing to wait for.
GIVE_UP_AFTER_S = 20.0


class Watched(Protocol):
    @property
    def starts(self) -> int: ...

    def running(self) -> bool: ...

    def progress(self) -> list[dict[str, Any]]: ...

    def log_tail(self, lines: int = 30) -> str: ...


class EngineWatch:
    def __init__(self, name: str, watched: Watched, files: RunFiles, kind: str = "engine") -> None:
        """`kind` marks the records in the run's metrics."""
        self._name = name
        self._watched = watched
        self._files = files
        self._kind = kind
        self.down = 0  # how often it was found not running, or started again

    def run(self, stop: threading.Event) -> None:
        alive_at = time.monotonic()
        starts = self._watched.starts
        while not stop.wait(LOOK_EVERY_S):
            if self._watched.running():
                alive_at = time.monotonic()
            else:
                self.down += 1
                if time.monotonic() - alive_at > GIVE_UP_AFTER_S:
                    raise EngineError(f"{self._name} is down:\n{self._watched.log_tail()}")
            # A quick restart is over between two looks; the run goes on, to count what was published twice.
            if self._watched.starts != starts:
                starts = self._watched.starts
                self.down += 1
            self._keep_progress()
        self._keep_progress()

    def _keep_progress(self) -> None:
        for record in self._watched.progress():
            self._files.metric({"kind": self._kind, **record})
