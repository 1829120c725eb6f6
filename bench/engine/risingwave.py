"""RisingWave: SQL over the Postgres protocol, in a container or where the user runs it.

Windows go by event time: its PROCTIME() closes a window only when further rows arrive. They are emitted when
the watermark passes their end (EMIT ON WINDOW CLOSE), which takes newer events: the suite sends sentinels.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Protocol

from bench.bento.config import secrets_of
from bench.engine.protocol import EngineError, EngineJob, WindowClock
from bench.engine.risingwave_sql import create_statements, drop_statements
from bench.infra.endpoint import RisingWaveEndpoint
from bench.infra.errors import ServiceError
from bench.infra.risingwave_session import ask, execute
from bench.infra.waiting import wait_until

START_TIMEOUT_S = 90.0
LOOK_EVERY_S = 1.0
LOOK_TIMEOUT_S = 2.0
RECOVERIES = "SELECT count(*) FROM rw_catalog.rw_event_logs WHERE event_type LIKE '%RECOVERY%'"
#: Each materialised view and sink is a streaming job; one that is still being made is no output yet.
JOBS_BEING_MADE = "SELECT count(*) FROM rw_catalog.rw_ddl_progress"


class RisingWaveService(Protocol):
    """A container of ours, or a RisingWave that the user runs."""

    @property
    def endpoint(self) -> RisingWaveEndpoint: ...

    def start(self) -> None: ...

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None: ...

    def stop(self) -> None: ...

    def running(self) -> bool: ...

    def log_tail(self, lines: int = 40) -> str: ...

    def pids(self) -> list[int]: ...

    def kill(self) -> None: ...

    def restart(self) -> None: ...

    def version(self) -> str: ...


class RisingWaveEngine:
    variant = "rw"
    window_clocks: tuple[WindowClock, ...] = ("event",)
    needs_flush = True

    def __init__(self, service: RisingWaveService, source: str) -> None:
        """`source` tells the manifest where it comes from: an image or an address."""
        self._service = service
        self._source = source
        self._job: EngineJob | None = None
        #: Recoveries by RisingWave's own log: each starts every job again from the last checkpoint.
        self.starts = 0
        self._looked_at = 0.0
        self._healthy = True
        self._version = ""

    # -- life ------------------------------------------------------------------------

    def deploy(self, job: EngineJob) -> None:
        self._job = job
        try:
            self._service.start()
            self._service.wait_ready(START_TIMEOUT_S)
            self._version = self._service.version()
            # What an interrupted run left in a RisingWave that is not ours would be in the way.
            statements = [*drop_statements(job.partitions), *create_statements(job)]
            execute(self._service.endpoint, statements)
        except ServiceError as error:
            raise EngineError(self._redacted(f"rw cannot be deployed: {error}")) from None

    def wait_ready(self, timeout_s: float) -> None:
        """Until nothing is being created any more."""

        def ready() -> bool:
            return int(ask(self._service.endpoint, JOBS_BEING_MADE)) == 0

        try:
            wait_until(ready, timeout_s, "rw is not ready", interval_s=0.5)
            self.starts = int(ask(self._service.endpoint, RECOVERIES))
        except (TimeoutError, ServiceError) as error:
            why = f"{error}: {error.__cause__ or ''}\n{self.log_tail()}"
            raise EngineError(self._redacted(why)) from None

    def stop(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            # In a container it goes with it; a RisingWave of the user's must be left as it was found.
            with suppress(ServiceError):
                execute(self._service.endpoint, drop_statements(job.partitions))
        self._service.stop()

    # -- looking in ----------------------------------------------------------------------

    def running(self) -> bool:
        """Whether it answers: asked for once a second."""
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            self._healthy = self._service.running() and self._answers()
            self._looked_at = time.monotonic()
        return self._healthy

    def _answers(self) -> bool:
        try:
            self.starts = int(ask(self._service.endpoint, RECOVERIES, LOOK_TIMEOUT_S))
        except ServiceError:
            return False
        return True

    def progress(self) -> list[dict[str, Any]]:
        return []

    def pids(self) -> list[int]:
        return self._service.pids()

    def log_tail(self, lines: int = 30) -> str:
        return self._redacted(self._service.log_tail(lines))

    def settings(self) -> dict[str, Any]:
        return {
            "engine": "rw",
            "from": self._source,
            "version": self._version or None,
            "ack_policy": "all",
            "max_ack_pending": 100_000,
            "watermark_delay_s": 1,
            "sink_decouple": False,
        }

    # -- faults ------------------------------------------------------------------------

    def kill(self) -> None:
        self._service.kill()

    def restart(self) -> None:
        self._service.restart()

    def _redacted(self, text: str) -> str:
        for secret in secrets_of(self._job.nats, self._job.tidb) if self._job else []:
            text = text.replace(secret, "***")
        return text
