"""What engines share that run as a service of their own: in a container, or where the user runs them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from bench.engine.protocol import EngineJob
from bench.infra.endpoint import secrets_of

LOOK_EVERY_S = 1.0
LOOK_TIMEOUT_S = 2.0


class HostedService(Protocol):
    def start(self) -> None: ...

    def wait_ready(self, timeout_s: float = ...) -> None: ...

    def stop(self) -> None: ...

    def running(self) -> bool: ...

    def log_tail(self, lines: int = 40) -> str: ...

    def pids(self) -> list[int]: ...

    def kill(self) -> None: ...

    def restart(self) -> None: ...


S = TypeVar("S", bound=HostedService)


class HostedEngine(ABC, Generic[S]):
    """Subclasses deploy jobs to the service and look after them."""

    def __init__(self, service: S, source: str) -> None:
        """`source` tells the manifest where it comes from: an image or an address."""
        self._service = service
        self._source = source
        self._job: EngineJob | None = None
        self._looked_at = 0.0
        self._healthy = True

    @abstractmethod
    def _look(self) -> bool:
        """Ask the engine whether its jobs run."""

    def running(self) -> bool:
        """Asked for once a second at most: the watch comes by more often."""
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            self._healthy = self._service.running() and self._look()
            self._looked_at = time.monotonic()
        return self._healthy

    def progress(self) -> list[dict[str, Any]]:
        return []

    def pids(self) -> list[int]:
        return self._service.pids()

    def log_tail(self, lines: int = 30) -> str:
        return self._redacted(self._service.log_tail(lines))

    def kill(self) -> None:
        self._service.kill()

    def restart(self) -> None:
        self._service.restart()

    def _redacted(self, text: str) -> str:
        """Engines repeat statements in their errors, and the statements hold passwords."""
        for secret in secrets_of(self._job.nats, self._job.tidb) if self._job else []:
            text = text.replace(secret, "***")
        return text
