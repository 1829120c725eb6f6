"""Arroyo: one pipeline a partition, deployed over its REST API.

What it cannot do as the contract has it: it has no processing-time windows (ingest or event time instead), no
durable of a given name (it makes and remakes its own consumers), and its sink publishes without an answer.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from bench.engine.arroyo_sql import pipeline_sql
from bench.engine.hosted import LOOK_TIMEOUT_S, HostedEngine, HostedService
from bench.engine.protocol import EngineError, EngineJob, WindowClock
from bench.infra.arroyo_api import ArroyoApi, ArroyoError, Job
from bench.infra.errors import ServiceError
from bench.infra.waiting import wait_until

#: Arroyo holds back what it has not checkpointed: its default of 10 s would be a second window.
CHECKPOINT_INTERVAL_S = 2.0
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
RUNNING = "Running"
BROKEN = ("Failed", "Finished", "Stopped")


class ArroyoService(HostedService, Protocol):
    @property
    def url(self) -> str: ...

    def build_id(self) -> str: ...


class ArroyoEngine(HostedEngine[ArroyoService]):
    variant = "arroyo"
    window_clocks: tuple[WindowClock, ...] = ("ingest", "event")
    needs_flush = True

    def __init__(self, service: ArroyoService, source: str) -> None:
        super().__init__(service, source)
        self._pipelines: list[str] = []
        self._run_ids: dict[str, int] = {}
        self._ready = False
        self._build = ""

    @property
    def starts(self) -> int:
        """By Arroyo's own count, over all pipelines, as `running` saw it last."""
        return sum(self._run_ids.values())

    def deploy(self, job: EngineJob) -> None:
        if job.sink != "jetstream":
            raise EngineError("arroyo has no sink for TiDB: it runs the cases C, D and E")
        self._job = job
        try:
            self._service.start()
            self._service.wait_ready(START_TIMEOUT_S)
            self._build = self._service.build_id()
            for partition in range(job.partitions):
                name = f"jetlag-{job.run_id}-{partition}"
                query = pipeline_sql(job, partition)
                self._pipelines.append(self._api().create_pipeline(name, query, CHECKPOINT_INTERVAL_S))
        except (ServiceError, ArroyoError, OSError) as error:
            raise EngineError(self._redacted(f"arroyo cannot be deployed: {error}")) from None

    def wait_ready(self, timeout_s: float) -> None:
        """Until every pipeline runs."""
        try:
            wait_until(
                self._all_run, timeout_s, "arroyo is not ready", interval_s=0.5, abort_on=(EngineError,)
            )
        except TimeoutError as error:
            raise EngineError(f"{error}: {error.__cause__ or ''}\n{self.log_tail()}") from None
        self._ready = True

    def _all_run(self) -> bool:
        jobs = {pipeline: self._api().job(pipeline) for pipeline in self._pipelines}
        for job in jobs.values():
            if job is not None and job.state in BROKEN:
                why = job.failure or "no reason given"
                raise EngineError(self._redacted(f"arroyo: a pipeline is {job.state}: {why}"))
        self._run_ids = {pipeline: job.run_id for pipeline, job in jobs.items() if job is not None}
        return all(job is not None and job.state == RUNNING for job in jobs.values())

    def stop(self) -> None:
        pipelines, self._pipelines = self._pipelines, []
        for pipeline in pipelines:
            # In a container they go with it; an Arroyo of the user's must be left as it was found.
            with suppress(ArroyoError, OSError):
                self._api().stop_pipeline(pipeline)
        for pipeline in pipelines:
            with suppress(ArroyoError, OSError):
                self._delete_when_stopped(pipeline)
        self._service.stop()

    def _delete_when_stopped(self, pipeline: str) -> None:
        def stopped() -> bool:
            job = self._api().job(pipeline)
            return job is None or job.state in BROKEN

        with suppress(TimeoutError):
            wait_until(stopped, STOP_TIMEOUT_S, "the pipeline does not stop", interval_s=0.2)
        self._api().delete_pipeline(pipeline)

    def _look(self) -> bool:
        # All are asked, also after one that is down: each may have been started again.
        return all([self._runs(pipeline) for pipeline in self._pipelines])  # noqa: C419

    def _runs(self, pipeline: str) -> bool:
        job = self._peek(pipeline)
        if job is None or job.state in BROKEN:
            return False
        self._run_ids[pipeline] = job.run_id
        return job.state == RUNNING or not self._ready

    def _peek(self, pipeline: str) -> Job | None:
        try:
            return self._api().job(pipeline, LOOK_TIMEOUT_S)
        except (ArroyoError, OSError):
            return None

    def settings(self) -> dict[str, Any]:
        return {
            "engine": "arroyo",
            "from": self._source,
            "build": self._build or None,
            "pipelines": "one a partition, parallelism 1",
            "checkpoint_interval_s": CHECKPOINT_INTERVAL_S,
            "durable": "Arroyo's own, remade at each start: it takes no name",
            "sink": "core publish, not acknowledged",
        }

    def _api(self) -> ArroyoApi:
        return ArroyoApi(self._service.url)
