"""Chooses who runs the services, and says why in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.infra.docker_engine import DockerEngine
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.errors import InfraError
from bench.infra.external import ExternalNats, ExternalTidb
from bench.infra.external_url import (
    NATS_VARIABLE,
    TIDB_TLS_VARIABLE,
    TIDB_VARIABLE,
    nats_endpoint,
    tidb_endpoint,
)
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.nats_cluster import NatsCluster, local_cluster
from bench.infra.service import Service

CHOICES = ("auto", "containers", "local", "external")
DEFAULT_NATS_IMAGE = "nats:2"
DEFAULT_TIDB_IMAGE = "pingcap/tidb:v8.5.0"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Provider:
    name: str
    reason: str
    nats: Callable[[], Service[NatsEndpoint]]
    tidb: Callable[[], Service[TidbEndpoint]]
    #: Three NATS servers that replicate to each other.
    nats_cluster: Callable[[], NatsCluster]


def choose_provider(
    infra: str,
    *,
    nats_image: str | None = None,
    tidb_image: str | None = None,
    allow_remote_target: bool = False,
    small_disk: bool = False,
    environ: Mapping[str, str],
    say: Say = lambda _line: None,
) -> Provider:
    """`say` is told what takes long (an image being pulled); InfraError is one line and says what to do.

    `small_disk`: an embedded NATS gets a disk of its own, which can be filled.
    """
    images = (
        nats_image or environ.get("JETLAG_NATS_IMAGE") or DEFAULT_NATS_IMAGE,
        tidb_image or environ.get("JETLAG_TIDB_IMAGE") or DEFAULT_TIDB_IMAGE,
    )
    match infra:
        case "local":
            return _local("asked for with --infra=local", small_disk)
        case "external":
            return _external(environ, allow_remote_target)
        case "containers":
            problem = _containers_problem(images, environ, say)
            if problem is not None:
                raise InfraError(f"--infra=containers: {problem}")
            return _containers(images, "asked for with --infra=containers")
        case "auto":
            problem = _containers_problem(images, environ, say)
            if problem is not None:
                return _local(f"embedded services, because {problem}", small_disk)
            return _containers(images, "a Docker engine answers and has the images")
    raise InfraError(f"--infra={infra} is unknown: choose one of {', '.join(CHOICES)}")


def _local(reason: str, small_disk: bool = False) -> Provider:
    return Provider("local", reason, lambda: LocalNats(with_small_disk=small_disk), LocalTidb, local_cluster)


def _containers(images: tuple[str, str], reason: str) -> Provider:
    # Imported late: testcontainers takes a while to import, and most runs have no use for it.
    from bench.infra.container_cluster import container_cluster
    from bench.infra.container_nats import ContainerNats
    from bench.infra.container_tidb import ContainerTidb

    nats_image, tidb_image = images
    return Provider(
        "containers",
        f"{reason} ({nats_image}, {tidb_image})",
        lambda: ContainerNats(nats_image),
        lambda: ContainerTidb(tidb_image),
        lambda: container_cluster(nats_image),
    )


def _containers_problem(images: tuple[str, ...], environ: Mapping[str, str], say: Say) -> str | None:
    engine = DockerEngine.connect(environ)
    if isinstance(engine, str):
        return engine
    try:
        for image in images:
            if engine.has_image(image):
                continue
            say(f"pulling the image {image}")
            why = engine.pull(image)
            if why is not None:
                return f"the image {image} cannot be had: {why}"
    finally:
        engine.close()
    return None


def _external(environ: Mapping[str, str], allow_remote_target: bool) -> Provider:
    missing = [name for name in (NATS_VARIABLE, TIDB_VARIABLE) if not environ.get(name)]
    if missing:
        raise InfraError(f"--infra=external needs {' and '.join(missing)} in the environment")
    nats = nats_endpoint(environ[NATS_VARIABLE], allow_remote_target=allow_remote_target)
    tls = environ.get(TIDB_TLS_VARIABLE, "")
    tidb = tidb_endpoint(environ[TIDB_VARIABLE], allow_remote_target=allow_remote_target, tls=tls)
    reason = f"asked for with --infra=external ({nats.url}, {tidb.url})"
    return Provider("external", reason, lambda: ExternalNats(nats), lambda: ExternalTidb(tidb), _no_cluster)


def _no_cluster() -> NatsCluster:
    raise InfraError(
        "--infra=external: the transport suite kills and pauses its servers, so it runs three of its own; "
        "use --infra=local or --infra=containers"
    )
