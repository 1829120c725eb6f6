"""What is done to a target, and how it is undone; each pair can be undone at any time and more than once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from bench.engine.protocol import EngineError
from bench.fault.hold import Hold
from bench.fault.leader import leader_away_from
from bench.fault.routes import Routes
from bench.fault.spec import Fault
from bench.infra.errors import ServiceError
from bench.pipeline import Pipeline
from bench.stack import Stack

#: A slow link: a far data centre over a thin line. The loads of the smoke profile still fit through it.
SLOW_LATENCY_S = 0.05
SLOW_BYTES_PER_S = 2_000_000.0

Act = Callable[[], None]


def _nothing() -> None:
    """Most strikes need no preparation."""


@dataclass(frozen=True)
class Strike:
    hurt: Act
    mend: Act
    #: What must be so before, and takes a while.
    prepare: Act = _nothing


class Process(Protocol):
    """An engine or a sink."""

    def kill(self) -> None: ...

    def restart(self) -> None: ...

    def running(self) -> bool: ...

    def pids(self) -> list[int]: ...


@dataclass
class Victims:
    """Everything that a fault of this run can be done to; the pipeline comes when it is built."""

    stack: Stack
    routes: Routes
    engine: Process | None
    sink: Process | None
    #: Makes the streams again that a server forgot.
    renew_streams: Act | None
    #: The stream whose leader a fault on the leader is done to.
    stream: str
    pipeline: Pipeline | None = None

    def strike(self, fault: Fault) -> Strike:
        match fault.target, fault.kind:
            case _, "cut":
                return self._cut(fault)
            case _, "slow":
                return self._slow(fault)
            case "nats" | "tidb", _:
                return self._on_service(fault)
            case "nats-leader", _:
                return self._on_leader(fault)
            case "engine" | "sink", _:
                process = self.engine if fault.target == "engine" else self.sink
                assert process is not None
                return _on_process(process, fault)
            case "writer" | "producer", _:
                return self._on_driver(fault)
        raise ValueError(f"{fault}: nothing can do that")

    def _cut(self, fault: Fault) -> Strike:
        proxies = self.routes.of(fault.target)
        return Strike(lambda: _each(proxies, "cut"), lambda: _each(proxies, "join"))

    def _slow(self, fault: Fault) -> Strike:
        links = [proxy.link for proxy in self.routes.of(fault.target)]

        def hurt() -> None:
            for link in links:
                link.be_slow(SLOW_LATENCY_S, SLOW_BYTES_PER_S)

        return Strike(hurt, lambda: _each(links, "be_fast"))

    def _on_service(self, fault: Fault) -> Strike:
        service: Any = self.stack.services()[fault.target]

        def start_again() -> None:
            if not service.pids():
                service.restart()
                service.wait_ready()
                if fault.target == "nats" and self.renew_streams is not None:
                    self.renew_streams()

        def free_disk() -> None:
            # JetStream stops for good when its disk is full: an operator frees it and restarts.
            if service.free_disk():
                service.restart()
                service.wait_ready()

        match fault.kind:
            case "kill":
                return Strike(service.kill, start_again)
            case "pause":
                return Strike(service.pause, service.resume)
            case _:
                return Strike(service.fill_disk, free_disk)

    def _on_leader(self, fault: Fault) -> Strike:
        """The clients are connected to another server: measured is the stream's way to a new leader."""
        cluster = self.stack.cluster
        assert cluster is not None
        led_by: list[Any] = []

        def prepare() -> None:
            led_by[:] = [cluster.nodes[leader_away_from(cluster, self.stack.nats, self.stream)]]

        def mend() -> None:
            for node in led_by:
                if fault.kind == "pause":
                    node.resume()
                elif not node.pids():
                    node.restart()
                    node.wait_ready()

        return Strike(lambda: led_by[0].kill() if fault.kind == "kill" else led_by[0].pause(), mend, prepare)

    def _on_driver(self, fault: Fault) -> Strike:
        def hold() -> Hold:
            pipeline: Any = self.pipeline
            driver_hold: Hold = getattr(pipeline, fault.target).hold
            return driver_hold

        def let_go() -> None:
            if self.pipeline is not None:
                hold().let_go()

        return Strike(lambda: hold().crash() if fault.kind == "kill" else hold().freeze(), let_go)


def _on_process(process: Process, fault: Fault) -> Strike:
    def start_again() -> None:
        if not process.running():
            process.restart()

    def send(signum: signal.Signals) -> None:
        for pid in process.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signum)

    if fault.kind == "kill":
        return Strike(process.kill, start_again)
    return Strike(lambda: send(signal.SIGSTOP), lambda: send(signal.SIGCONT))


def _each(things: list[Any], method: str) -> None:
    for thing in things:
        getattr(thing, method)()


def mend_quietly(strike: Strike) -> None:
    """After the run: an engine that has been stopped meanwhile needs no mending."""
    with suppress(EngineError, ServiceError, OSError, ValueError):
        strike.mend()
