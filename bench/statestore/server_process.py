"""The engine in a process of its own, on a leash: it can be killed, started again, asked for its audit."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.driverbench.errors import TurnFailed
from bench.engine.spark import spark_environment
from bench.infra.endpoint import NatsEndpoint, secrets_of
from bench.infra.errors import ServiceError
from bench.infra.family import kill_family
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.infra.waiting import wait_until
from bench.statestore.settings import ServerSettings
from spark_jobs.statestore.names import READY

READY_WITHIN_S = 180.0
END_WITHIN_S = 600.0
AUDIT = "audit.json"


class ServerProcess:
    """A context. `folder` gets the figures and the checkpoint, and stays."""

    def __init__(
        self, nats: NatsEndpoint, folder: Path, settings: ServerSettings, with_audit: bool = True
    ) -> None:
        self._nats, self._folder, self._settings = nats, folder.resolve(), settings
        self._with_audit = with_audit
        self._starts = 0

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def checkpoint(self) -> Path:
        return self._folder / "checkpoint"

    def __enter__(self) -> ServerProcess:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._leashed = Leashed("statestore")
        return self

    def __exit__(self, *_: object) -> None:
        self._leashed.close()

    def start(self) -> None:
        words = ["--servers", self._nats.url, "--checkpoint", str(self.checkpoint)]
        words += ["--folder", str(self._folder), *self._settings.words()]
        words += ["--audit", str(self._folder / AUDIT)] if self._with_audit else []
        self._pid = self._leashed.start(
            [sys.executable, "-m", "spark_jobs.statestore.server", *words],
            self._log,
            spark_environment(self._nats, self._leashed.folder),
        )
        self._starts += 1

    def wait_ready(self, timeout_s: float = READY_WITHIN_S) -> None:
        """Its first micro-batch since its last start is done."""
        self._wait(lambda: self._said(READY) >= self._starts, timeout_s, "the server is not ready")

    def kill(self) -> None:
        """kill -9 to the driver, the JVM and the Python workers."""
        kill_family(self._leashed, self._pid)

    def stop(self) -> None:
        """Ended as a user would end it; with an audit this takes as long as its store is large."""
        (self._folder / AUDIT).unlink(missing_ok=True)
        with suppress(ServiceError):  # it has ended by itself
            self._leashed.signal(signal.SIGTERM)
        wait_until(lambda: not self._leashed.running(), END_WITHIN_S, "the server does not end")

    def audit(self) -> dict[str, Any]:
        """What was in its store when it was stopped."""
        try:
            found: dict[str, Any] = json.loads((self._folder / AUDIT).read_text())
        except FileNotFoundError:
            raise TurnFailed(f"the server ended without its audit:\n{self.log_tail()}") from None
        return found

    def running(self) -> bool:
        return self._leashed.running()

    @property
    def pid(self) -> int:
        return self._pid

    def check(self) -> None:
        if not self.running():
            raise TurnFailed(f"the server has ended:\n{self.log_tail()}")

    def log_tail(self, lines: int = 30) -> str:
        text = tail_of(self._log, lines)
        for secret in secrets_of(self._nats):
            text = text.replace(secret, "***")
        return text

    def local_folder(self) -> Path:
        """Where RocksDB works, until the server ends."""
        return self._leashed.folder

    @property
    def _log(self) -> Path:
        return self._leashed.folder / "log"

    def _said(self, word: str) -> int:
        return self._log.read_text(errors="replace").count(word)

    def _wait(self, condition: Any, timeout_s: float, message: str) -> None:
        def holds() -> bool:
            self.check()
            return bool(condition())

        try:
            wait_until(holds, timeout_s, message, abort_on=(TurnFailed,))
        except TimeoutError as error:
            raise TurnFailed(f"{error}:\n{self.log_tail()}") from None
