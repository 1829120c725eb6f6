"""What every service can do, whichever provider runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TypeVar

from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.errors import InfraError, ServiceError

__all__ = [
    "InfraError",
    "Kind",
    "NatsEndpoint",
    "Service",
    "ServiceError",
    "TidbEndpoint",
    "identity",
    "running",
]

Kind = Literal["local", "container", "external"]
E_co = TypeVar("E_co", NatsEndpoint, TidbEndpoint, covariant=True)
READY_TIMEOUT_S = 60.0


class Service(Protocol[E_co]):
    """start, wait_ready, stop; stop may be called at any time and any number of times."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def endpoint(self) -> E_co: ...

    @property
    def container_id(self) -> str | None: ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What its runtime is told on top of its configuration; no secrets."""
        ...

    def start(self) -> None: ...

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None: ...

    def stop(self) -> None: ...

    def log_tail(self, lines: int = 40) -> str: ...

    def pids(self) -> list[int]:
        """The service's processes on this host; none for a container (see container_id) or external."""
        ...

    def version(self) -> str: ...

    def build_id(self) -> str:
        """What exactly ran: the binary's sha256, the image's digest, or what an external server says."""
        ...

    def kill(self) -> None:
        """End the service as a crash would, without warning (SIGKILL); its data and port stay reserved."""
        ...

    def restart(self) -> None:
        """Start again on the same port with the same data, killing it first if it runs; then wait_ready."""
        ...

    def pause(self) -> None:
        """Freeze the service: connections stay open and nothing answers."""
        ...

    def resume(self) -> None: ...


def identity(service: Service[E_co]) -> dict[str, Any]:
    """What a manifest says of it."""
    return {
        "kind": service.kind,
        "version": service.version(),
        "build": service.build_id(),
        "environment": dict(service.environment),
    }


@contextmanager
def running(service: Service[E_co], timeout_s: float = READY_TIMEOUT_S) -> Iterator[Service[E_co]]:
    """Start the service, wait for it, and stop it whatever happens, a failed start included."""
    try:
        service.start()
        service.wait_ready(timeout_s)
        yield service
    finally:
        service.stop()
