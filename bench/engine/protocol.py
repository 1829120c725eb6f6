"""What the suite asks of a stream engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from bench.infra.endpoint import NatsEndpoint, TidbEndpoint

#: processing: when the engine saw the event; ingest: when JetStream stored it; event: its producer_ts_ms.
WindowClock = Literal["processing", "ingest", "event"]
Sink = Literal["jetstream", "tidb"]


@dataclass(frozen=True)
class EngineJob:
    """The windowed aggregate of one run, as every engine gets it."""

    run_id: str
    case: str
    window_ms: int
    window_clock: WindowClock
    partitions: int
    sink: Sink
    nats: NatsEndpoint
    tidb: TidbEndpoint | None
    #: Where the engine may leave files that belong in the run's report.
    folder: Path
    #: By the event's clock: a window is closed so long after its end.
    lateness_s: int = 1


class EngineError(Exception):
    """The engine could not be started, or broke; one line, then its log's tail."""


class Engine(Protocol):
    """deploy, wait_ready, progress, stop; stop may be called at any time and any number of times."""

    @property
    def variant(self) -> str: ...

    @property
    def window_clocks(self) -> tuple[WindowClock, ...]:
        """The clocks by which this engine can close windows."""
        ...

    @property
    def needs_flush(self) -> bool:
        """Whether a window closes only when newer events arrive: the suite then sends sentinels."""
        ...

    def deploy(self, job: EngineJob) -> None: ...

    def wait_ready(self, timeout_s: float) -> None:
        """Return when the engine consumes; EngineError with its log's tail when it does not in time."""
        ...

    def progress(self) -> list[dict[str, Any]]:
        """What the engine has told of itself since the last call."""
        ...

    def running(self) -> bool: ...

    @property
    def starts(self) -> int:
        """How often it was started so far: one more in the middle of a run is a restart, and spoils it."""
        ...

    def log_tail(self, lines: int = 30) -> str: ...

    def pids(self) -> list[int]: ...

    def kill(self) -> None:
        """End it as a crash would."""
        ...

    def restart(self) -> None:
        """Start the same job again from its checkpoint."""
        ...

    def stop(self) -> None: ...

    def settings(self) -> dict[str, Any]:
        """Versions and settings for the manifest."""
        ...
