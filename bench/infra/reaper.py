"""Removes one container by name, and the network it was in: run by the leash when we died without doing it.

Testcontainers' own reaper (Ryuk) is itself an image, which cannot be pulled everywhere.
"""

from __future__ import annotations

import contextlib
import sys
import time

import docker
import docker.errors

ATTEMPTS = 5
INTERVAL_S = 1.0


def remove(client: docker.DockerClient, name: str) -> None:
    for _ in range(ATTEMPTS):
        try:
            client.containers.get(name).remove(force=True, v=True)
            return
        except docker.errors.NotFound:
            # We may have died while the engine was still creating it.
            time.sleep(INTERVAL_S)


def remove_network(client: docker.DockerClient, name: str) -> None:
    """The last container's reaper succeeds; before that the engine refuses, since others are still in it."""
    with contextlib.suppress(docker.errors.APIError):
        client.networks.get(name).remove()


if __name__ == "__main__":
    engine = docker.from_env(timeout=20)
    remove(engine, sys.argv[1])
    for network in sys.argv[2:]:
        remove_network(engine, network)
