"""Engines that come as an image, or that the user runs: how they are made, and why they cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.infra.docker_engine import DockerEngine

Say = Callable[[str], None]


@dataclass(frozen=True)
class Origin:
    """Where an engine comes from: the address of one that the user runs, or else an image."""

    engine: str
    default_image: str
    image_variable: str
    url_variable: str

    def url(self, environ: Mapping[str, str]) -> str | None:
        return environ.get(self.url_variable) or None

    def image(self, option: str | None, environ: Mapping[str, str]) -> str:
        return option or environ.get(self.image_variable) or self.default_image

    def absent(self, option: str | None, environ: Mapping[str, str], say: Say) -> str | None:
        """Why it is not at hand, with the one command that gets it."""
        if self.url(environ):
            return None
        image = self.image(option, environ)
        problem = image_problem(image, environ.get("DOCKER_HOST", ""), say)
        if problem is None:
            return None
        return (
            f"{self.engine} is not at hand: {problem}; get it with `docker pull {image}`, "
            f"name another with --engine-image, or set {self.url_variable} to one that you run"
        )


#: Asked once a session: a registry that does not answer takes its time to say so.
_problems: dict[tuple[str, str], str | None] = {}


def image_problem(image: str, docker_host: str, say: Say) -> str | None:
    if (image, docker_host) not in _problems:
        _problems[image, docker_host] = _look_for(image, docker_host, say)
    return _problems[image, docker_host]


def _look_for(image: str, docker_host: str, say: Say) -> str | None:
    docker = DockerEngine.connect({"DOCKER_HOST": docker_host} if docker_host else {})
    if isinstance(docker, str):
        return docker
    try:
        if docker.has_image(image):
            return None
        say(f"pulling the image {image}")
        why = docker.pull(image)
        return None if why is None else f"the image {image} is not here and cannot be pulled ({why})"
    finally:
        docker.close()


ARROYO = Origin("arroyo", "ghcr.io/arroyosystems/arroyo:latest", "JETLAG_ARROYO_IMAGE", "JETLAG_ARROYO_URL")
RISINGWAVE = Origin(
    "rw", "risingwavelabs/risingwave:v3.0.3", "JETLAG_RISINGWAVE_IMAGE", "JETLAG_RISINGWAVE_URL"
)
