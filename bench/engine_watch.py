"""Looks after the engine during a run: keeps what it tells of itself, notices when it is down."""

from __future__ import annotations

import threading
import time

from bench.engine.protocol import Engine, EngineError
from bench.runfiles import RunFiles

LOOK_EVERY_S = 0.25
#: Down for this long and nobody started it again: the run has nothing to wait for.
GIVE_UP_AFTER_S = 20.0


class EngineWatch:
    def __init__(self, engine: Engine, files: RunFiles) -> None:
        self._engine = engine
        self._files = files
        self.down = 0  # how often it was found not running

    def run(self, stop: threading.Event) -> None:
        alive_at = time.monotonic()
        while not stop.wait(LOOK_EVERY_S):
            if self._engine.running():
                alive_at = time.monotonic()
            else:
                self.down += 1
                if time.monotonic() - alive_at > GIVE_UP_AFTER_S:
                    raise EngineError(f"{self._engine.variant} is down:\n{self._engine.log_tail()}")
            self._keep_progress()
        self._keep_progress()

    def _keep_progress(self) -> None:
        for record in self._engine.progress():
            self._files.metric({"kind": "engine", **record})
