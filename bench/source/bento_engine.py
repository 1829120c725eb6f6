"""Bento's turns: a process each, and the result read from its own counters."""

from __future__ import annotations

import time
from typing import Any

import psutil

from bench.bento.process import BentoProcess
from bench.driverbench.broker import Broker
from bench.driverbench.errors import TurnFailed
from bench.infra.endpoint import NatsEndpoint, secrets_of
from bench.source.backlog import Backlog
from bench.source.bento_config import BATCH_COUNT, BATCH_PERIOD, COUNT, MAX_ACK_PENDING, SUM, source_config
from bench.source.truth import kept_totals
from bench.source.turn import Mode, Pipeline, SourceTurn

#: So long without progress, and the turn has failed.
_STALLED_S = 20.0
_POLL_S = 0.05
#: After the last event that was due: one that comes a second time must be seen.
_SETTLE_S = 0.3


class BentoSource:
    variant = "bento"
    #: Its input acknowledges every message by itself: see docs/source.md.
    least_efficiency = 0.3
    warms_up = False  # a process of its own each turn

    def __init__(self, nats: NatsEndpoint, broker: Broker, image: str | None = None) -> None:
        self._nats, self._broker, self._image = nats, broker, image

    def rehearse(self, backlog: Backlog, pipeline: Pipeline) -> None:
        pass

    def play(self, backlog: Backlog, mode: Mode, pipeline: Pipeline) -> SourceTurn:
        process = BentoProcess(self._image)
        files = f"{backlog.preload.folder}/*.json"

        def configure(address: str) -> str:
            return source_config(address, mode, pipeline, self._nats, files)

        try:
            server_s = self._broker.cpu_s()
            process.launch(configure, secrets_of(self._nats))
            return self._watch(process, backlog, mode, pipeline, server_s)
        finally:
            if process.running():
                process.kill()  # else it would wait for its shutdown_delay
            process.stop()

    def settings(self) -> dict[str, Any]:
        policy = {"batch_count": BATCH_COUNT, "batch_period": BATCH_PERIOD}
        return {**BentoProcess(self._image).build(), **policy, "max_ack_pending": MAX_ACK_PENDING}

    def _watch(
        self, process: BentoProcess, backlog: Backlog, mode: Mode, pipeline: Pipeline, server_s: float
    ) -> SourceTurn:
        """From the first look that sees an event to the look that sees the last: start-up is not counted."""
        due = kept_totals(1, backlog.events).count
        began_s, began_at = 0.0, 0.0
        seen, moved_s = 0.0, time.monotonic()
        while seen < due:
            now_s, counted = time.monotonic(), _count(process)
            if counted > seen:
                seen, moved_s = counted, now_s
                began_s, began_at = (began_s, began_at) if began_s else (now_s, counted)
            elif now_s - moved_s > _STALLED_S or not process.running():
                raise TurnFailed(f"bento counted {seen:.0f} of {due} events:\n{process.log_tail(10)}")
            if seen < due:
                time.sleep(_POLL_S)
        elapsed_s = moved_s - began_s
        if elapsed_s <= 0:
            # All within one look: too few events to tell a rate, but an upper bound of the time.
            elapsed_s, began_at = _POLL_S, 0.0
        time.sleep(_SETTLE_S)
        final = process.counts()
        return SourceTurn(
            mode,
            pipeline,
            backlog.messages,
            elapsed_s * due / (due - began_at),
            int(final[COUNT]),
            int(final[SUM]),
            _cpu_s(process),
            self._broker.cpu_s() - server_s,
            {"received": final.get("input_received"), "sent": final.get("output_sent")},
        )


def _count(process: BentoProcess) -> float:
    try:
        return process.counts().get(COUNT, 0.0)
    except (OSError, ValueError):
        return 0.0  # its server is not up yet


def _cpu_s(process: BentoProcess) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in process.pids()]
    return sum(float(time.user + time.system) for time in times)
