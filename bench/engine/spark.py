"""Spark through PySpark: spark_jobs.window_aggregate in a process of its own."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.engine.protocol import EngineError, EngineJob, WindowClock
from bench.infra.endpoint import NatsEndpoint, secrets_of
from bench.infra.family import family, kill_family
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.infra.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PROGRESS_FILE = "spark-progress.jsonl"
READY = "READY run_id="


@dataclass(frozen=True)
class SparkSettings:
    master: str = "local[*]"
    trigger_ms: int | None = None
    checkpoint: str | None = None
    conf: tuple[str, ...] = ()
    #: Before it is ready, the job runs on made-up events for so long: see spark_jobs/rehearsal.py.
    rehearse_s: int = 0


def spark_folders(folder: Path) -> dict[str, str]:
    """Environment that keeps what Spark leaves when it is killed in the leash's folder."""
    return {
        "TMPDIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_SUBMIT_OPTS": f"-Djava.io.tmpdir={folder}",
    }


def spark_environment(nats: NatsEndpoint, folder: Path) -> dict[str, str]:
    """What every job of spark_jobs needs that is started here; secrets are not on its command line."""
    return {
        "PYTHONPATH": str(ROOT),
        "JETLAG_NATS_USER": nats.user,
        "JETLAG_NATS_PASSWORD": nats.password,
        **spark_folders(folder),
    }


class SparkEngine:
    variant = "spark"
    window_clocks: tuple[WindowClock, ...] = ("processing", "event")
    needs_flush = False  # its source makes ticks

    def __init__(self, settings: SparkSettings | None = None) -> None:
        self._settings = settings or SparkSettings()
        self._leashed: Leashed | None = None
        self._job: EngineJob | None = None
        self._pid: int | None = None
        self._ready_lines = 0
        self._progress_read = 0
        self.starts = 0

    # -- life ------------------------------------------------------------------------

    def deploy(self, job: EngineJob) -> None:
        if self._leashed is not None:
            raise EngineError("spark has been deployed already")
        self._leashed = Leashed("spark")
        self._job = job
        self._ready_lines = self._progress_read = 0
        self._launch()

    def _launch(self) -> None:
        leashed, job = self._live()
        argv = [sys.executable, "-m", "spark_jobs.window_aggregate", *self._arguments(job, leashed.folder)]
        self._pid = leashed.start(argv, self._log, self._environment(job, leashed.folder))
        self.starts += 1

    def _arguments(self, job: EngineJob, folder: Path) -> list[str]:
        settings = self._settings
        words = [
            *("--servers", job.nats.url),
            *("--run-id", job.run_id),
            *("--case", job.case),
            *("--variant", self.variant),
            *("--sink", job.sink),
            *("--window-ms", str(job.window_ms)),
            *("--window-clock", job.window_clock),
            *("--watermark-delay-ms", str(1000 * job.lateness_s)),
            *("--partitions", str(job.partitions)),
            *("--checkpoint", settings.checkpoint or str(folder / "checkpoint")),
            *("--master", settings.master),
            *("--progress-file", str(job.folder.resolve() / PROGRESS_FILE)),
        ]
        if settings.trigger_ms is not None:
            words += ["--trigger-ms", str(settings.trigger_ms)]
        if self.starts == 0:  # a restart is a recovery, and that is timed
            words += ["--rehearse-s", str(settings.rehearse_s)]
        for pair in settings.conf:
            words += ["--conf", pair]
        if job.sink == "tidb":
            assert job.tidb is not None
            words += ["--tidb-host", job.tidb.host, "--tidb-port", str(job.tidb.port)]
            words += ["--tidb-tls"] if job.tidb.tls else []
        return words

    def _environment(self, job: EngineJob, folder: Path) -> dict[str, str]:
        environment = spark_environment(job.nats, folder)
        if job.tidb is not None:
            environment["JETLAG_TIDB_USER"] = job.tidb.user
            environment["JETLAG_TIDB_PASSWORD"] = job.tidb.password
        return environment

    def wait_ready(self, timeout_s: float) -> None:
        wanted = self._ready_lines + 1

        def ready() -> bool:
            if not self.running():
                raise EngineError(f"spark ended while starting:\n{self.log_tail()}")
            return self._count_ready() >= wanted

        if self.starts == 1:
            timeout_s += self._settings.rehearse_s
        try:
            wait_until(ready, timeout_s, "spark is not ready", interval_s=0.2, abort_on=(EngineError,))
        except TimeoutError as error:
            raise EngineError(f"{error}:\n{self.log_tail()}") from None
        self._ready_lines = wanted

    def _count_ready(self) -> int:
        try:
            return self._log.read_text(errors="replace").count(READY)
        except FileNotFoundError:
            return 0

    def stop(self) -> None:
        leashed, self._leashed, self._pid = self._leashed, None, None
        if leashed is not None:
            leashed.close()

    # -- faults ------------------------------------------------------------------------

    def kill(self) -> None:
        """SIGKILL to the driver, the JVM and the Python workers; returns when all are gone."""
        leashed, _ = self._live()
        kill_family(leashed, self._pid)

    def restart(self) -> None:
        self._launch()

    # -- looking in ----------------------------------------------------------------------

    def running(self) -> bool:
        return self._leashed is not None and self._leashed.running()

    def pids(self) -> list[int]:
        return family(self._pid)

    def progress(self) -> list[dict[str, Any]]:
        _, job = self._live()
        try:
            with (job.folder / PROGRESS_FILE).open() as file:
                file.seek(self._progress_read)
                whole = [line for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
        except FileNotFoundError:
            return []
        self._progress_read += sum(len(line.encode()) for line in whole)
        return [json.loads(line) for line in whole]

    def log_tail(self, lines: int = 30) -> str:
        text = "" if self._leashed is None else tail_of(self._log, lines)
        job = self._job
        for secret in secrets_of(job.nats, job.tidb) if job else []:
            text = text.replace(secret, "***")
        return text

    def settings(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "engine": "spark",
            "version": importlib.metadata.version("pyspark"),
            "master": settings.master,
            "trigger_ms": settings.trigger_ms,
            "checkpoint": settings.checkpoint or "temporary folder",
            "conf": list(settings.conf),
            "rehearse_s": settings.rehearse_s,
        }

    @property
    def _log(self) -> Path:
        return self._live()[0].folder / "log"

    def _live(self) -> tuple[Leashed, EngineJob]:
        if self._leashed is None or self._job is None:
            raise EngineError("spark is not deployed")
        return self._leashed, self._job
