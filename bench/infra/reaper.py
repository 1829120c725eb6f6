"""Removes one container by name: run by the leash when we died without doing it ourselves.

Testcontainers' own reaper (Ryuk) is itself an image, which cannot be pulled everywhere.
"""

from __future__ import annotations

import sys
import time

import docker
import docker.errors

ATTEMPTS = 5
INTERVAL_S = 1.0


def remove(name: str) -> None:
    client = docker.from_env(timeout=20)
    for _ in range(ATTEMPTS):
        try:
            client.containers.get(name).remove(force=True, v=True)
            return
        except docker.errors.NotFound:
            # We may have died while the engine was still creating it.
            time.sleep(INTERVAL_S)


if __name__ == "__main__":
    remove(sys.argv[1])
