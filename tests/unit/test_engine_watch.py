"""The watch over an engine: what it must not miss, and what it must not forget."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from bench import engine_watch
from bench.engine.protocol import EngineError
from bench.engine_watch import EngineWatch
from bench.infra.container_arroyo import SERVICES, ContainerArroyo
from bench.infra.container_risingwave import PORTS, standalone_command
from bench.pipeline_e import doubled_rows
from bench.result_table import TableContent


class FakeEngine:
    """Lives through one look after the other, as scripted: (running, starts)."""

    def __init__(self, stop: threading.Event, *looks: tuple[bool, int]) -> None:
        self._stop = stop
        self._looks = list(looks)
        self.starts = looks[0][1]

    def running(self) -> bool:
        running, self.starts = self._looks.pop(0)
        if not self._looks:
            self._stop.set()
        return running

    def progress(self) -> list[dict[str, Any]]:
        return [{"received": self.starts}]

    def log_tail(self, lines: int = 30) -> str:  # noqa: ARG002
        return "the end of its log"


class FakeFiles:
    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def metric(self, record: dict[str, Any]) -> None:
        self.records.append(record)


def watched(monkeypatch: pytest.MonkeyPatch, *looks: tuple[bool, int]) -> tuple[EngineWatch, FakeFiles]:
    monkeypatch.setattr(engine_watch, "LOOK_EVERY_S", 0.001)
    stop, files = threading.Event(), FakeFiles()
    watch = EngineWatch("x", FakeEngine(stop, *looks), files, kind="sink")  # type: ignore[arg-type]
    watch.run(stop)
    return watch, files


def test_a_sound_engine_is_never_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run would be invalid."""
    watch, files = watched(monkeypatch, (True, 1), (True, 1), (True, 1))
    assert watch.down == 0
    assert files.records[0] == {"kind": "sink", "received": 1}


def test_a_restart_between_two_looks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is back within a quarter of a second would have published twice unnoticed."""
    assert watched(monkeypatch, (True, 1), (True, 2), (True, 2))[0].down == 1
    assert watched(monkeypatch, (True, 1), (False, 1), (True, 2))[0].down == 2


def test_an_engine_that_stays_down_ends_the_run_with_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run would wait for its full draining time for nobody."""
    monkeypatch.setattr(engine_watch, "GIVE_UP_AFTER_S", 0.0)
    with pytest.raises(EngineError, match="x is down:\nthe end of its log"):
        watched(monkeypatch, (True, 1), (False, 1), (False, 1))


def rows(*pairs: tuple[str, int]) -> TableContent:
    return TableContent.of_rows([(key, end, 1, 1, 1, 1, 1) for key, end in pairs])


def test_a_result_that_came_twice_is_counted_once_too_often() -> None:
    """Case E's witness would see a doubled result, and say nothing of it."""
    assert doubled_rows(rows()) == 0
    assert doubled_rows(rows(("a", 1), ("a", 2), ("b", 1))) == 0
    assert doubled_rows(rows(("a", 1), ("a", 1), ("b", 1), ("a", 1))) == 2
    assert rows(("a", 1)).window_end_ms.dtype == np.int64


class FakeContainer:
    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self.command: list[str] = []

    def with_env(self, name: str, value: str) -> None:
        self.environment[name] = value

    def with_command(self, command: list[str]) -> None:
        self.command = command


def test_engines_in_the_host_s_network_listen_on_loopback_only() -> None:
    """Arroyo and RisingWave take SQL from whoever reaches them: the whole network would."""
    arroyo, container = ContainerArroyo("image"), FakeContainer()
    arroyo._ports = list(range(20_000, 20_000 + len(SERVICES)))
    arroyo._prepare(container)
    assert container.command == ["cluster"]
    assert [container.environment[f"ARROYO__{service}__BIND_ADDRESS"] for service in SERVICES] == [
        "127.0.0.1"
    ] * len(SERVICES)
    assert arroyo.url == f"http://127.0.0.1:{container.environment['ARROYO__API__HTTP_PORT']}"

    command = standalone_command(list(range(20_000, 20_000 + PORTS)))
    assert command[0] == "standalone"
    text = " ".join(command)
    assert "0.0.0.0" not in text
    for port in range(20_000, 20_000 + PORTS):
        assert f"127.0.0.1:{port}" in text
