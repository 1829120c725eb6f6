"""A process and all below it: Spark's driver, its JVM and the Python workers."""

from __future__ import annotations

import signal
from contextlib import suppress

import psutil

from bench.infra.errors import ServiceError
from bench.infra.leashed import Leashed


def family(pid: int | None) -> list[int]:
    """Children first; empty when it has ended."""
    if pid is None:
        return []
    try:
        head = psutil.Process(pid)
        return [child.pid for child in head.children(recursive=True)] + [pid]
    except psutil.Error:
        return []


def kill_family(leashed: Leashed, pid: int | None) -> None:
    """SIGKILL to all of them; returns when all are gone."""
    children = []
    for child in family(pid):
        with suppress(psutil.Error):
            if child != pid:
                children.append(psutil.Process(child))
    with suppress(ServiceError):  # it has ended by itself
        leashed.signal(signal.SIGKILL)
    for process in children:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(children, timeout=10)
