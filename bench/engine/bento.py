"""Bento's own windows (system_window): an engine that runs wherever the suite does.

Windows close on the wall clock. Events are acknowledged when their window's results are stored, so a crash
loses nothing, but events of a window that was open go into a later one: at least once, by the
processing clock only.
"""

from __future__ import annotations

from typing import Any

from bench.bento.config import nats_url, render
from bench.bento.process import BentoProcess
from bench.contract.names import durable
from bench.engine.protocol import EngineError, EngineJob, WindowClock
from bench.infra.endpoint import secrets_of

CONFIG = "windows.yaml"
#: Bento counts windows from the year 1, we count them from 1970.
_YEAR_1_TO_1970_MS = 62_135_596_800_000
MIN_ACK_WAIT_S = 30


class BentoEngine(BentoProcess):
    variant = "bento"
    window_clocks: tuple[WindowClock, ...] = ("processing",)
    needs_flush = False

    def __init__(self, image: str | None = None, min_ack_wait_s: int = MIN_ACK_WAIT_S) -> None:
        super().__init__(image)
        self._min_ack_wait_s = min_ack_wait_s

    def deploy(self, job: EngineJob) -> None:
        if job.sink != "jetstream":
            raise EngineError("bento writes its windows to JetStream only")
        self.launch(lambda address: windows_config(job, address, self._min_ack_wait_s), secrets_of(job.nats))

    def settings(self) -> dict[str, Any]:
        return {"engine": "bento", **self.build(), "delivery": "at least once", "max_ack_pending": 1_000_000}


def windows_config(job: EngineJob, address: str, min_ack_wait_s: int = MIN_ACK_WAIT_S) -> str:
    # Events wait unacknowledged for their window to close: redelivered before that, they would count twice.
    ack_wait_s = max(min_ack_wait_s, 3 * job.window_ms // 1000)
    return render(
        CONFIG,
        {
            "HTTP_ADDRESS": address,
            "NATS_URL": nats_url(job.nats),
            "DURABLE": durable(job.case, "events", "bento").name,
            "RUN_ID": job.run_id,
            "ACK_WAIT": f"{ack_wait_s}s",
            "WINDOW": f"{job.window_ms}ms",
            "WINDOW_OFFSET": f"{window_offset_ms(job.window_ms)}ms",
        },
    )


def window_offset_ms(window_ms: int) -> int:
    """What moves Bento's windows onto multiples of `window_ms` since 1970; 0 where they divide a day.

    Between minus and plus half a window: with more, Bento's search for the present window misses it.
    """
    offset = _YEAR_1_TO_1970_MS % window_ms
    return offset - window_ms if offset * 2 > window_ms else offset
