"""One Bento with one configuration: its life, its faults, and what it tells of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.engine.protocol import EngineError
from bench.infra.bento_http import get_counts
from bench.infra.errors import ServiceError
from bench.infra.local_bento import LocalBento
from bench.setup.tools import BENTO_VERSION

PROGRESS_EVERY_S = 1.0
PROGRESS_TIMEOUT_S = 0.5
#: Bento's name of a count → ours.
COUNTS = {"input_received": "received", "output_sent": "sent", "output_error": "output_errors"}


class BentoProcess:
    """`image` runs it in a container, otherwise it is the binary that the set-up built."""

    def __init__(self, image: str | None = None) -> None:
        self._image = image
        self._service: Any = None
        self._kept_log = ""
        self._told_at = 0.0
        self.starts = 0

    def launch(self, configure: Callable[[str], str], secrets: Sequence[str]) -> None:
        if self._service is not None:
            raise EngineError("bento has been started already")
        self._service = self._make(configure, secrets)
        try:
            self._service.start()
            self.starts += 1
        except ServiceError as error:
            raise EngineError(str(error)) from None

    def _make(self, configure: Callable[[str], str], secrets: Sequence[str]) -> Any:
        if self._image is None:
            return LocalBento(configure, secrets)
        # Imported late: testcontainers takes a while to import, and most runs have no use for it.
        from bench.infra.container_bento import ContainerBento

        return ContainerBento(self._image, configure, secrets)

    def wait_ready(self, timeout_s: float) -> None:
        try:
            self._live().wait_ready(timeout_s)
        except ServiceError as error:
            raise EngineError(str(error)) from None

    def running(self) -> bool:
        return self._service is not None and bool(self._service.running())

    def pids(self) -> list[int]:
        return list(self._service.pids()) if self._service is not None else []

    def kill(self) -> None:
        self._live().kill()

    def restart(self) -> None:
        self._live().restart()
        self.starts += 1

    def stop(self) -> None:
        service, self._service = self._service, None
        if service is not None:
            service.stop()
            self._kept_log = service.log_tail()

    def log_tail(self, lines: int = 30) -> str:
        return str(self._service.log_tail(lines)) if self._service is not None else self._kept_log

    def progress(self) -> list[dict[str, Any]]:
        """Totals since Bento started, once a second; nothing while it is away."""
        if self._service is None or time.monotonic() - self._told_at < PROGRESS_EVERY_S:
            return []
        try:
            counts = get_counts(self._service.address, PROGRESS_TIMEOUT_S)
        except (OSError, ValueError):
            return []
        self._told_at = time.monotonic()
        return [{ours: int(counts.get(theirs, 0)) for theirs, ours in COUNTS.items()}]

    def counts(self) -> dict[str, float]:
        """All that Bento counts, by its own names; OSError while it is away."""
        return get_counts(self._live().address, PROGRESS_TIMEOUT_S)

    def build(self) -> dict[str, Any]:
        if self._image is not None:
            return {"image": self._image}
        return {"version": BENTO_VERSION, "build": LocalBento(lambda _address: "", ()).build_id()}

    def _live(self) -> Any:
        if self._service is None:
            raise EngineError("bento is not started")
        return self._service
