"""What the services in containers share: testcontainers, loopback ports, and a leash for the rest."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Literal

import docker.errors
import requests
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from bench.infra.docker_engine import first_line
from bench.infra.errors import ServiceError
from bench.infra.leashed import Leashed
from bench.infra.ports import LOOPBACK, free_ports
from bench.infra.service import READY_TIMEOUT_S
from bench.infra.waiting import wait_until

testcontainers_config.ryuk_disabled = True  # our leash takes Ryuk's place, see reaper.py

REAPER = Path(__file__).with_name("reaper.py")
PORT_ATTEMPTS = 5
PROBE_TIMEOUT_S = 5.0
DOCKER_ERRORS = (docker.errors.DockerException, requests.RequestException)


class ContainerService(ABC):
    """Subclasses say what to run and how to question it."""

    name: str
    kind: Literal["container"] = "container"
    environment: Mapping[str, str] = MappingProxyType({})
    _container_ports: tuple[int, ...]
    #: In the host's network, for what must reach services on loopback: it binds `_ports` there itself.
    _host_network = False

    def __init__(self, image: str, network: str | None = None) -> None:
        self._image = image
        self._network_name = network
        self._leashed: Leashed | None = None
        self._container: Any = None
        self._ports: list[int] = []
        self._kept_log = ""

    @abstractmethod
    def _prepare(self, container: Any) -> None:
        """Set the command and copy in what it needs."""

    @abstractmethod
    def _probe(self, timeout_s: float) -> None: ...

    @abstractmethod
    def _secrets(self) -> list[str]: ...

    @abstractmethod
    def version(self) -> str: ...

    @property
    def container_id(self) -> str | None:
        return str(self._container.get_container_id()) if self._container is not None else None

    def start(self) -> None:
        if self._leashed is not None:
            raise ServiceError(f"{self.name} has been started already")
        self._leashed = Leashed(self.name)
        try:
            for attempt in range(PORT_ATTEMPTS):
                if self._create(last=attempt == PORT_ATTEMPTS - 1):
                    return
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

    def stop(self) -> None:
        leashed, self._leashed = self._leashed, None
        if leashed is None:
            return
        try:
            self._kept_log = self.log_tail(200)
            self._discard()
            leashed.on_end(None)
        except (*DOCKER_ERRORS, ServiceError):
            pass  # the leash then removes the container, or finds no engine to remove it from
        finally:
            self._container = None
            leashed.close()

    def pids(self) -> list[int]:
        return []

    def log_tail(self, lines: int = 40) -> str:
        if self._container is None:
            return "\n".join(self._kept_log.splitlines()[-lines:])
        try:
            text = self._wrapped().logs(tail=lines).decode(errors="replace")
        except DOCKER_ERRORS:
            return ""
        for secret in self._secrets():
            text = text.replace(secret, "***")
        return str(text).rstrip("\n")

    def build_id(self) -> str:
        image = self._wrapped().image
        digests = image.attrs.get("RepoDigests") or []
        return str(digests[0] if digests else image.id)

    def kill(self) -> None:
        self._wrapped().kill()
        self._wrapped().wait(timeout=20)

    def restart(self) -> None:
        container = self._wrapped()
        container.reload()
        if container.status in ("running", "paused"):
            self.kill()
        container.start()

    def pause(self) -> None:
        self._wrapped().pause()

    def resume(self) -> None:
        self._wrapped().unpause()

    def _create(self, last: bool) -> bool:
        """False when another process took the port first, which the engine says only on start."""
        assert self._leashed is not None
        name = f"jetlag-{self.name}-{secrets.token_hex(6)}"
        # Before the container is: a kill -9 between the two must not leave one that nobody knows.
        network = [self._network_name] if self._network_name else []
        self._leashed.on_end([sys.executable, "-I", str(REAPER), name, *network])
        self._ports = free_ports(len(self._container_ports))
        try:
            container = DockerContainer(self._image).with_name(name)
        except DOCKER_ERRORS as error:
            raise ServiceError(f"no Docker engine for {self.name}: {first_line(str(error))}") from error
        if self._host_network:
            container.with_kwargs(network_mode="host")
        else:
            self._publish_ports(container)
        if self._network_name:
            container.with_network(SimpleNamespace(name=self._network_name))  # type: ignore[arg-type]
        self._prepare(container)
        try:
            self._container = container.start()
        except DOCKER_ERRORS as error:
            self._container = container if container._container is not None else None
            text = first_line(str(getattr(error, "explanation", None) or error))
            taken = "port is already allocated" in text or "address already in use" in text
            if last or not taken:
                raise ServiceError(f"{self.name} ({self._image}) cannot be started: {text}") from error
            self._discard()
            return False
        return True

    def _publish_ports(self, container: Any) -> None:
        for inside, outside in zip(self._container_ports, self._ports, strict=True):
            # Fixed, since Docker would pick new ones at each start; loopback, since it would bind them all.
            container.ports[f"{inside}/tcp"] = (LOOPBACK, outside)

    def running(self) -> bool:
        try:
            container = self._wrapped()
            container.reload()
        except (*DOCKER_ERRORS, ServiceError):
            return False
        return bool(container.status == "running")

    def _discard(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            container.stop()

    def _wrapped(self) -> Any:
        if self._container is None:
            raise ServiceError(f"{self.name} is not started")
        return self._container.get_wrapped_container()

    def _is_ready(self, probe_timeout_s: float) -> bool:
        try:
            self._probe(probe_timeout_s)
        except Exception as error:
            container = self._wrapped()
            container.reload()
            if container.status in ("exited", "dead"):
                raise ServiceError(f"{self.name} ended while starting", self.log_tail()) from error
            raise ConnectionError(str(error)) from error
        return True
