"""Measures one turn: wall time, and CPU of this process, of its children and of the server."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable


class Stopwatch:
    def __init__(self, server_cpu_s: Callable[[], float]) -> None:
        self._server_cpu_s = server_cpu_s
        self._server = server_cpu_s()
        self._children = children_cpu_s()
        self._process = time.process_time()
        self._started = time.monotonic()
        self.elapsed_s = self.process_cpu_s = self.children_cpu_s = self.server_cpu_s = 0.0

    def stop(self) -> None:
        self.elapsed_s = time.monotonic() - self._started
        self.process_cpu_s = time.process_time() - self._process
        self.children_cpu_s = children_cpu_s() - self._children
        self.server_cpu_s = self._server_cpu_s() - self._server


def children_cpu_s() -> float:
    """Of all children that have ended and been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
