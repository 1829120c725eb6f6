"""What the embedded services share: a leashed process, its ports, its log, and the faults it can suffer."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from bench.infra.binary import sha256_of
from bench.infra.errors import ServiceError
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.infra.ports import free_ports
from bench.infra.service import READY_TIMEOUT_S
from bench.infra.waiting import wait_until

PORT_ATTEMPTS = 5
KEPT_LINES = 200
PROBE_TIMEOUT_S = 5.0


class LocalService(ABC):
    """Subclasses say how to configure, start and question their server; they own no process handling."""

    name: str
    kind: Literal["local"] = "local"
    container_id: None = None
    environment: Mapping[str, str] = MappingProxyType({})
    _port_count = 2

    def __init__(self) -> None:
        self._leashed: Leashed | None = None
        self._ports: list[int] = []
        self._pid: int | None = None
        self._launches_left = PORT_ATTEMPTS
        self._kept_log = ""

    @abstractmethod
    def binary(self) -> Path: ...

    @abstractmethod
    def _configure(self, folder: Path) -> list[str]:
        """Write the configuration for the present ports; returns the command to run."""

    @abstractmethod
    def _probe(self, timeout_s: float) -> None:
        """Ask the server something real; any exception means that it is not ready."""

    @abstractmethod
    def _secrets(self) -> list[str]: ...

    @abstractmethod
    def version(self) -> str: ...

    def start(self) -> None:
        if self._leashed is not None:
            raise ServiceError(f"{self.name} has been started already")
        self.binary()  # a missing binary is told before anything is made
        self._leashed = Leashed(self.name)
        try:
            self._ports = free_ports(self._port_count)
            self._launches_left = PORT_ATTEMPTS
            self._launch()
        except BaseException:
            self.stop()
            raise

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        try:
            wait_until(
                lambda: self._is_ready(min(timeout_s, PROBE_TIMEOUT_S)),
                timeout_s,
                f"{self.name} is not ready",
                abort_on=(ServiceError,),
            )
        except TimeoutError as error:
            why = f": {error.__cause__}" if error.__cause__ else ""
            raise ServiceError(f"{error}{why}", self.log_tail()) from error
        self._launches_left = 1  # from now on clients know the port: a restart must not change it

    def stop(self) -> None:
        leashed, self._leashed, self._pid = self._leashed, None, None
        if leashed is None:
            return
        self._kept_log = self._redacted(tail_of(leashed.folder / "log", KEPT_LINES))
        leashed.close()

    def pids(self) -> list[int]:
        running = self._leashed is not None and self._pid is not None and self._leashed.running()
        return [self._pid] if running and self._pid is not None else []

    def running(self) -> bool:
        return bool(self.pids())

    def log_tail(self, lines: int = 40) -> str:
        if self._leashed is None:
            return "\n".join(self._kept_log.splitlines()[-lines:])
        return self._redacted(tail_of(self._log, lines))

    def build_id(self) -> str:
        return sha256_of(self.binary())

    def kill(self) -> None:
        self._leash().signal(signal.SIGKILL)

    def restart(self) -> None:
        if self.pids():
            self.kill()
        self._launch()

    def pause(self) -> None:
        self._leash().signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._leash().signal(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self._leash().folder / "log"

    def _leash(self) -> Leashed:
        if self._leashed is None:
            raise ServiceError(f"{self.name} is not started")
        return self._leashed

    def _launch(self) -> None:
        self._launches_left -= 1
        leash = self._leash()
        self._pid = leash.start(self._configure(leash.folder), self._log, dict(self.environment))

    def _is_ready(self, probe_timeout_s: float) -> bool:
        if self._leash().running():
            try:
                self._probe(probe_timeout_s)
            except ServiceError as error:
                # Raised plainly it would end the wait; a server that is still starting may refuse us.
                raise ConnectionError(str(error)) from error
            return True
        tail = self.log_tail()
        if "address already in use" in tail and self._launches_left > 0:
            # Another process took the port between our look and the server's bind.
            self._ports = free_ports(self._port_count)
            self._launch()
            return False
        raise ServiceError(f"{self.name} ended while starting", tail)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets():
            text = text.replace(secret, "***")
        return text
