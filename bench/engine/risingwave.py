"""RisingWave: SQL over the Postgres protocol.

Windows go by event time: its PROCTIME() closes a window only when further rows arrive. They are emitted when
the watermark passes their end (EMIT ON WINDOW CLOSE), which takes newer events: the suite sends sentinels.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from bench.engine.hosted import LOOK_TIMEOUT_S, HostedEngine, HostedService
from bench.engine.protocol import EngineError, EngineJob, WindowClock
from bench.engine.risingwave_sql import create_statements, drop_statements
from bench.infra.endpoint import RisingWaveEndpoint
from bench.infra.errors import ServiceError
from bench.infra.risingwave_session import ask, execute
from bench.infra.waiting import wait_until

START_TIMEOUT_S = 90.0
RECOVERIES = "SELECT count(*) FROM rw_catalog.rw_event_logs WHERE event_type LIKE '%RECOVERY%'"
#: Each materialised view and sink is a streaming job; one that is still being made is no output yet.
JOBS_BEING_MADE = "SELECT count(*) FROM rw_catalog.rw_ddl_progress"


class RisingWaveService(HostedService, Protocol):
    @property
    def endpoint(self) -> RisingWaveEndpoint: ...

    def version(self) -> str: ...


class RisingWaveEngine(HostedEngine[RisingWaveService]):
    variant = "rw"
    window_clocks: tuple[WindowClock, ...] = ("event",)
    needs_flush = True

    def __init__(self, service: RisingWaveService, source: str) -> None:
        super().__init__(service, source)
        #: Recoveries by RisingWave's own log: each starts every job again from the last checkpoint.
        self.starts = 0
        self._version = ""

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

    def _look(self) -> bool:
        try:
            self.starts = int(ask(self._service.endpoint, RECOVERIES, LOOK_TIMEOUT_S))
        except ServiceError:
            return False
        return True

    def settings(self) -> dict[str, Any]:
        return {
            "engine": "rw",
            "from": self._source,
            "version": self._version or None,
            "ack_policy": "all",
            "max_ack_pending": 100_000,
            "sink_decouple": False,
        }
