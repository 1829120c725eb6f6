"""Meters of processes: real figures, and nothing rather than half of something."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import docker
import pytest
import requests

from bench.resources import PidsMeter, ResourceMonitor, Usage, thread_cpu_s
from bench.worker import Worker


def monitored(services=None, processes=None, looks: int = 1) -> dict[str, list[Usage]]:
    """What a monitor hands on in its first looks."""
    found: dict[str, list[Usage]] = {}

    def note(name: str, usage: Usage, at_s: float) -> None:
        found.setdefault(name, []).append(usage)

    class Stop(threading.Event):
        seen = 0

        def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - no need to wait
            Stop.seen += 1
            if Stop.seen >= looks:
                self.set()
            return self.is_set()

    ResourceMonitor(services or {}, note, processes).run(Stop())
    return found


def service(kind: str, pids=(), container_id: str | None = None):
    return SimpleNamespace(kind=kind, container_id=container_id, pids=lambda: list(pids))


def test_the_driver_itself_is_measured() -> None:
    """If this fails, nobody sees what the harness costs."""
    (usage,) = monitored()["driver"]
    assert usage.cpu_s > 0
    assert usage.rss_bytes > 1_000_000


def test_a_service_of_several_processes_is_their_sum() -> None:
    """If this fails, a supervised service reports only its supervisor."""
    mine = os.getpid()
    found = monitored({"one": service("local", [mine]), "two": service("local", [mine, mine])})
    assert found["two"][0].rss_bytes == pytest.approx(2 * found["one"][0].rss_bytes, rel=0.2)


def test_an_engines_processes_are_asked_for_at_every_look() -> None:
    """If this fails, an engine that starts workers later is measured without them."""
    asked: list[int] = []

    def pids() -> list[int]:
        asked.append(1)
        return [os.getpid()]

    found = monitored(processes={"spark": pids}, looks=3)
    assert len(asked) == len(found["spark"]) == 3


def test_processes_that_are_all_gone_give_no_sample() -> None:
    """If this fails, a restart in the middle of a run ends the measurement."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert "nats" not in monitored({"nats": service("local", [ended.pid])})


def test_what_an_ended_process_used_still_counts() -> None:
    """If this fails, the CPU of an engine whose workers come and go has no mean."""
    busy = subprocess.Popen([sys.executable, "-c", "sum(range(10**6)); input()"], stdin=subprocess.PIPE)
    pids = [os.getpid(), busy.pid]
    meter = PidsMeter(lambda: pids)
    before = meter()
    busy.communicate(b"\n")
    after = meter()
    assert before is not None
    assert after is not None
    assert after.cpu_s >= before.cpu_s > 0
    assert after.rss_bytes < before.rss_bytes


def test_an_external_service_is_not_looked_into() -> None:
    """If this fails, some process of this machine is reported as the remote service."""
    assert set(monitored({"nats": service("external")})) == {"driver"}


def fake_docker(monkeypatch: pytest.MonkeyPatch, stats) -> None:
    container = SimpleNamespace(stats=lambda **_how: stats())
    client = SimpleNamespace(containers=SimpleNamespace(get=lambda _id: container))
    monkeypatch.setattr(docker, "from_env", lambda: client)


def test_a_container_is_measured_by_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, containers have no CPU and memory in the report."""
    answer = {"cpu_stats": {"cpu_usage": {"total_usage": 2_500_000_000}}, "memory_stats": {"usage": 77}}
    fake_docker(monkeypatch, lambda: answer)
    assert monitored({"nats": service("container", container_id="abc")})["nats"] == [Usage(2.5, 77)]


@pytest.mark.parametrize(
    "error",
    [docker.errors.NotFound("gone"), requests.exceptions.ReadTimeout("busy"), KeyError("memory_stats")],
    ids=["gone", "busy", "stopped"],
)
def test_a_container_engine_that_does_not_answer_gives_no_sample(monkeypatch, error: Exception) -> None:
    """If this fails, one slow answer of the Docker engine makes a good run invalid."""

    def broken() -> None:
        raise error

    fake_docker(monkeypatch, broken)
    assert set(monitored({"nats": service("container", container_id="abc")})) == {"driver"}


def test_threads_have_their_own_cpu_time() -> None:
    """If this fails, the cost of a driver per message is that of another."""

    def busy(stop: threading.Event) -> None:
        deadline = 200_000
        while deadline:
            deadline -= 1

    worked, idle = Worker("worked", busy), Worker("idle", lambda _stop: None)
    for worker in (worked, idle):
        worker.start()
        worker.join(10)
    cpu_s = thread_cpu_s([worked, idle])
    assert set(cpu_s) == {"worked", "idle"}
    assert cpu_s["worked"] > cpu_s["idle"] >= 0
