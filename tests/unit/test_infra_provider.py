"""Which provider is chosen, and how the choice is explained."""

from __future__ import annotations

from typing import Any

import pytest

from bench.infra import provider
from bench.infra.docker_engine import DockerEngine, split_image
from bench.infra.errors import InfraError
from bench.infra.external import ExternalNats, ExternalTidb
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.provider import choose_provider

NO_ENGINE = {"DOCKER_HOST": "unix:///no/such/docker.sock"}


class FakeEngine:
    """An engine with some images, and a registry with others."""

    def __init__(self, present: set[str], pullable: set[str]) -> None:
        self.present, self.pullable, self.pulled, self.closed = present, pullable, [], False  # type: ignore[var-annotated]

    def has_image(self, image: str) -> bool:
        return image in self.present

    def pull(self, image: str) -> str | None:
        self.pulled.append(image)
        return None if image in self.pullable else "no route to the registry"

    def close(self) -> None:
        self.closed = True


def use(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    monkeypatch.setattr(provider.DockerEngine, "connect", lambda _environ: engine)


def test_local_is_local() -> None:
    """The embedded default must not depend on Docker in any way."""
    chosen = choose_provider("local", environ=NO_ENGINE)
    assert chosen.name == "local"
    assert isinstance(chosen.nats(), LocalNats)
    assert isinstance(chosen.tidb(), LocalTidb)


def test_auto_without_an_engine_is_local_and_says_why() -> None:
    """A user who expected containers must see why there are none."""
    chosen = choose_provider("auto", environ=NO_ENGINE)
    assert chosen.name == "local"
    assert "no Docker engine answers at unix:///no/such/docker.sock" in chosen.reason


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:1", "ssh://", "nonsense", "npipe:////./pipe/x"])
def test_a_broken_docker_host_is_no_engine(host: str) -> None:
    """A stale DOCKER_HOST must not crash a run that does not need Docker."""
    assert isinstance(DockerEngine.connect({"DOCKER_HOST": host}), str)


def test_containers_without_an_engine_is_an_error() -> None:
    """Falling back in silence would measure something else than was asked for."""
    with pytest.raises(InfraError, match="--infra=containers: no Docker engine answers") as caught:
        choose_provider("containers", environ=NO_ENGINE)
    assert "\n" not in str(caught.value)


def test_auto_takes_containers_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an engine and images at hand, the user's deployment format is what is measured."""
    engine = FakeEngine(present={"a", "b"}, pullable=set())
    use(monkeypatch, engine)
    chosen = choose_provider("auto", nats_image="a", tidb_image="b", environ={})
    assert chosen.name == "containers"
    assert engine.pulled == []
    assert engine.closed


def test_auto_pulls_and_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull takes minutes: silence would look like a hang."""
    use(monkeypatch, FakeEngine(present={"a"}, pullable={"b"}))
    said: list[str] = []
    chosen = choose_provider("auto", nats_image="a", tidb_image="b", environ={}, say=said.append)
    assert chosen.name == "containers"
    assert said == ["pulling the image b"]


def test_auto_without_images_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine behind a wall cannot pull; the run must go on with what is there."""
    use(monkeypatch, FakeEngine(present={"a"}, pullable=set()))
    chosen = choose_provider("auto", nats_image="a", tidb_image="b", environ={})
    assert chosen.name == "local"
    assert "the image b cannot be had: no route to the registry" in chosen.reason


@pytest.mark.parametrize(
    ("option", "environ", "expected"),
    [
        (None, {}, provider.DEFAULT_NATS_IMAGE),
        (None, {"JETLAG_NATS_IMAGE": "from-env"}, "from-env"),
        ("from-option", {"JETLAG_NATS_IMAGE": "from-env"}, "from-option"),
    ],
)
def test_image_names(
    monkeypatch: pytest.MonkeyPatch, option: str | None, environ: dict[str, str], expected: str
) -> None:
    """An option that loses to the environment measures another version than the command line says."""
    use(monkeypatch, FakeEngine(present=set(), pullable=set()))
    with pytest.raises(InfraError, match=f"the image {expected} cannot be had"):
        choose_provider("containers", nats_image=option, environ=environ)


def test_external_needs_both_urls() -> None:
    """A run with one service missing would fail half-way, after load was sent."""
    with pytest.raises(InfraError, match="JETLAG_NATS_URL and JETLAG_TIDB_URL"):
        choose_provider("external", environ={})
    urls = {
        "JETLAG_NATS_URL": "nats://u:hunter2@127.0.0.1:1",
        "JETLAG_TIDB_URL": "mysql://u:hunter2@127.0.0.1:2/bench",
    }
    chosen = choose_provider("external", environ=urls)
    assert "hunter2" not in chosen.reason
    assert isinstance(chosen.nats(), ExternalNats)
    assert isinstance(chosen.tidb(), ExternalTidb)


@pytest.mark.parametrize("infra", ["", "docker", "LOCAL", "auto "])
def test_unknown_providers_are_refused(infra: str) -> None:
    """A typing error must not choose for the user."""
    with pytest.raises(InfraError, match="is unknown: choose one of auto, containers, local, external"):
        choose_provider(infra, environ={})


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nats", ("nats", "latest")),
        ("nats:2", ("nats", "2")),
        ("host:5000/nats", ("host:5000/nats", "latest")),
        ("host:5000/nats:2", ("host:5000/nats", "2")),
        ("nats@sha256:ab", ("nats", "sha256:ab")),
    ],
)
def test_image_references(image: str, parts: tuple[str, str]) -> None:
    """Without a tag Docker pulls every tag of the repository."""
    assert split_image(image) == parts
