"""Our end of the leash (leash.py): starts the supervisor process and gives it orders."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from bench.infra.errors import ServiceError

LEASH = Path(__file__).with_name("leash.py")
GRACE_S = 10.0
ANSWER_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = GRACE_S + 70.0  # the leash's own bounds, and some room on a busy machine


class Leashed:
    """A temp folder, and at most one process, that cannot outlive this process."""

    def __init__(self, name: str) -> None:
        ours, theirs = socket.socketpair()
        arguments = [
            *("--fd", str(theirs.fileno())),
            *("--parent", str(os.getpid())),
            *("--prefix", f"jetlag-{name}-"),
            *("--grace-s", str(GRACE_S)),
        ]
        with theirs:
            self._leash = subprocess.Popen(
                [sys.executable, "-I", str(LEASH), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # an inherited pipe would keep its reader waiting for us
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        ours.settimeout(ANSWER_TIMEOUT_S)
        self._socket = ours
        self._answers = ours.makefile("rb")
        self._lock = threading.Lock()  # faults are injected from other threads than the one that started us
        self._folder = Path(self._read()["folder"])

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def supervisor_pid(self) -> int:
        return self._leash.pid

    def start(self, argv: list[str], log: Path, env: dict[str, str] | None = None) -> int:
        """Start the process, its output appended to `log`; returns its id.

        `env` comes on top of our own environment: the place for secrets, which a command line shows to all.
        """
        order = {"do": "start", "argv": argv, "log": str(log), "env": env or {}}
        return int(self._order(order)["pid"])

    def signal(self, signum: int) -> None:
        """SIGKILL returns when the process is gone."""
        self._order({"do": "signal", "signal": int(signum)})

    def running(self) -> bool:
        return bool(self._order({"do": "poll"})["running"])

    def on_end(self, argv: list[str] | None) -> None:
        """The command that the leash runs at its end, for what it cannot end itself: a container."""
        self._order({"do": "on_end", "argv": argv})

    def close(self) -> None:
        """End the process and remove the folder; returns when both are gone."""
        with self._lock:
            self._answers.close()
            self._socket.close()
        try:
            self._leash.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._leash.kill()  # the kernel then ends the service, see leash.py
            self._leash.wait()
        # Only a killed leash leaves the folder.
        shutil.rmtree(self._folder, ignore_errors=True)

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            try:
                self._socket.sendall(json.dumps(order).encode() + b"\n")
            except (OSError, ValueError) as error:
                raise ServiceError(f"the supervisor process is gone: {error}") from error
            answer = self._read()
        if "error" in answer:
            raise ServiceError(answer["error"])
        return answer

    def _read(self) -> dict[str, Any]:
        try:
            line = self._answers.readline()
        except (OSError, ValueError) as error:
            raise ServiceError(f"the supervisor process does not answer: {error}") from error
        if not line:
            raise ServiceError("the supervisor process has died")
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer
