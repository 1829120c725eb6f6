"""CPU and memory of every service and of the driver itself, once a second."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from bench.infra.service import Service
from bench.worker import Worker


@dataclass(frozen=True)
class Usage:
    cpu_s: float
    rss_bytes: int


Meter = Callable[[], Usage | None]


class ResourceMonitor:
    """Asks each meter once a second and hands the samples on."""

    def __init__(
        self,
        services: Mapping[str, Service[Any]],
        on_sample: Callable[[str, Usage, float], None],
        processes: Mapping[str, Callable[[], list[int]]] | None = None,
    ) -> None:
        self._meters: dict[str, Meter] = {"driver": PidsMeter(lambda: [os.getpid()])}
        for name, service in services.items():
            meter = service_meter(service)
            if meter is not None:
                self._meters[name] = meter
        for name, pids in (processes or {}).items():
            self._meters[name] = PidsMeter(pids)
        self._on_sample = on_sample

    def run(self, stop: threading.Event) -> None:
        due = time.monotonic()
        while not stop.is_set():
            for name, meter in self._meters.items():
                usage = meter()
                if usage is not None:
                    self._on_sample(name, usage, time.monotonic())
            due += 1.0
            stop.wait(max(0.05, due - time.monotonic()))


def service_meter(service: Service[Any]) -> Meter | None:
    if service.container_id is not None:
        return _container_meter(service.container_id)
    if service.kind == "local":
        return PidsMeter(service.pids)
    return None  # an external service's machine is not ours to look into


class PidsMeter:
    """All processes that `pids` names now, and the CPU time of those it named before and that have ended.

    Spark's Python workers come and go, and what they used must not go with them.
    """

    def __init__(self, pids: Callable[[], list[int]]) -> None:
        self._pids = pids
        self._ended_s = 0.0
        self._running_s: dict[psutil.Process, float] = {}

    def __call__(self) -> Usage | None:
        running_s: dict[psutil.Process, float] = {}
        rss = 0
        for pid in self._pids():
            # Gone between the list and the look: counted with those that have ended.
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                times = process.cpu_times()
                rss += process.memory_info().rss
                running_s[process] = times.user + times.system
        self._ended_s += sum(s for process, s in self._running_s.items() if process not in running_s)
        self._running_s = running_s
        return Usage(self._ended_s + sum(running_s.values()), rss) if running_s else None


def _container_meter(container_id: str) -> Meter:
    import docker  # testcontainers brings it; only needed with containers

    container = docker.from_env().containers.get(container_id)

    def measure() -> Usage | None:
        try:
            stats = container.stats(stream=False, one_shot=True)
            return Usage(stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, stats["memory_stats"]["usage"])
        except (KeyError, docker.errors.APIError, OSError):
            return None  # stopped, being restarted, or an engine too busy to answer

    return measure


def thread_cpu_s(workers: list[Worker]) -> dict[str, float]:
    return {worker.name: worker.cpu_now_s() for worker in workers}
