"""The commands of `python -m bench statestore`, as a user calls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from bench.infra.leashed import Leashed
from bench.infra.waiting import wait_until
from bench.statestore.home import Home
from bench.statestore.streams import StateStoreStreams, read_endings
from spark_jobs.statestore.names import ENDED
from tests.process_family import command_words, descendants

ROOT = Path(__file__).parents[3]
JOB = "spark_jobs.statestore.server"


class Commands:
    """In one home; a context that ends the server if a test has not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home(folder, os.environ)

    def __enter__(self) -> Commands:
        self._leashed = Leashed("statestore-test")
        self._starts = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._leashed.close()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self._command(*words), cwd=ROOT, capture_output=True, text=True, timeout=180)

    def start_server(self, *words: str, within_s: float = 180) -> None:
        self._pid = self._leashed.start(self._command("server", *words), self._log, {"PYTHONPATH": str(ROOT)})
        self._starts += 1

        def ready() -> bool:
            assert self._leashed.running(), self.said()
            return self.said().count("ready on") >= self._starts

        wait_until(ready, within_s, self.said, abort_on=(AssertionError,))

    def kill_spark(self) -> list[psutil.Process]:
        """kill -9 to driver, JVM and workers, and to nothing else."""
        family = descendants(self._pid)
        drivers = [one for one in family if any(JOB in words for words in command_words([one]))]
        assert len(drivers) == 1, command_words(family)
        doomed = [*drivers[0].children(recursive=True), drivers[0]]
        for process in doomed:
            process.kill()
        psutil.wait_procs(doomed, timeout=10)
        return doomed

    def wait_for_server_to_end(self, within_s: float = 60) -> None:
        wait_until(lambda: not self._leashed.running(), within_s, self.said)

    def stop_server(self) -> None:
        self._leashed.signal(signal.SIGTERM)
        self.wait_for_server_to_end(120)

    def endings(self) -> list[dict]:
        nats = self.home.server()
        with StateStoreStreams(nats) as streams:
            return read_endings(nats, streams.message_count(ENDED))

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def family(self) -> list[psutil.Process]:
        return descendants(self._pid)

    @property
    def _log(self) -> Path:
        return self._leashed.folder / "log"

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "bench", "statestore", "--home", str(self.folder), *words]
