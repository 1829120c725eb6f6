"""The Docker engine, if one answers: asked quickly, and asked for images within a bound."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests

PING_TIMEOUT_S = 1
STALL_TIMEOUT_S = 20
PULL_TIMEOUT_S = 300.0
DEFAULT_SOCKET = "unix:///var/run/docker.sock"


class DockerEngine:
    """Use `connect` to get one; it is only made when the engine has answered."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def connect(cls, environ: Mapping[str, str]) -> DockerEngine | str:
        """The engine, or why there is none."""
        host = environ.get("DOCKER_HOST") or DEFAULT_SOCKET
        # Looked at before the client is made: the common case of no engine at all takes no time.
        if host.startswith("unix://") and not Path(host.removeprefix("unix://")).exists():
            return f"no Docker engine answers at {host}"
        try:
            client = docker.from_env(timeout=PING_TIMEOUT_S, environment=dict(environ))
            client.ping()
        except (docker.errors.DockerException, requests.RequestException, OSError, ValueError):
            return f"no Docker engine answers at {host}"
        client.api.timeout = STALL_TIMEOUT_S
        return cls(client)

    def has_image(self, image: str) -> bool:
        try:
            self._client.images.get(image)
        except docker.errors.ImageNotFound:
            return False
        return True

    def pull(self, image: str, timeout_s: float = PULL_TIMEOUT_S) -> str | None:
        """None when the image is there afterwards, else why not; a stalled registry cannot hold us up."""
        repository, tag = split_image(image)
        deadline_s = time.monotonic() + timeout_s
        try:
            for event in self._client.api.pull(repository, tag=tag, stream=True, decode=True):
                if "error" in event:
                    return first_line(event["error"])
                if time.monotonic() > deadline_s:
                    return f"the pull took longer than {timeout_s:g} s"
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            return first_line(str(getattr(error, "explanation", None) or error))
        return None if self.has_image(image) else "the registry sent no image"

    def close(self) -> None:
        self._client.close()


def split_image(image: str) -> tuple[str, str]:
    """`host:5000/name:tag` → name and tag; without a tag Docker would pull every tag there is."""
    if "@" in image:
        repository, _, digest = image.partition("@")
        return repository, digest
    name, colon, tag = image.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (image, "latest")


def first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0][:200]
