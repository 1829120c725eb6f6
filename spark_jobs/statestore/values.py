"""The values of the store, as bytes; the first letter is the state of the object, so that SQL can count."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import msgspec

RUNNING, ENDED = b"R", b"E"
STARTED, COMPLETED, FAILED = b"S", b"C", b"F"
WINDOW_MS = 30_000


class Workflow(msgspec.Struct):
    """Read and rewritten by every step of it."""

    tasks: int
    began_ms: int
    started: int = 0
    completed: int = 0
    failed: int = 0
    last_step_ms: int = 0

    @property
    def over(self) -> bool:
        return self.completed + self.failed >= self.tasks


class MetricsWindow(msgspec.Struct, rename="camel"):
    """Thirty seconds of work, by the names that its readers know (docs/statestore.md)."""

    timestamp: int
    total_task_starts: int = 0
    total_task_start_latency: int = 0
    max_task_start_latency: int = 0
    total_task_completes: int = 0
    total_task_complete_latency: int = 0
    max_task_complete_latency: int = 0
    messages_processed: int = 0

    def started(self, latency_ms: int) -> None:
        self.total_task_starts += 1
        self.total_task_start_latency += latency_ms
        self.max_task_start_latency = max(self.max_task_start_latency, latency_ms)

    def completed(self, latency_ms: int) -> None:
        self.total_task_completes += 1
        self.total_task_complete_latency += latency_ms
        self.max_task_complete_latency = max(self.max_task_complete_latency, latency_ms)

    def add(self, other: MetricsWindow) -> None:
        """Another partition's part of the same window."""
        for name in self.__struct_fields__:
            if name != "timestamp":
                mine, theirs = getattr(self, name), getattr(other, name)
                setattr(self, name, max(mine, theirs) if name.startswith("max_") else mine + theirs)


class Totals(msgspec.Struct):
    """What one partition has done since its beginning; rewritten with every batch, as safe as the rest."""

    messages: int = 0
    workflows: int = 0
    ended: int = 0
    starts: int = 0
    completes: int = 0
    #: Completions of tasks that had timed out, or ended, before.
    late: int = 0
    #: Messages of a workflow or a task that is not there.
    stray: int = 0
    timers_set: int = 0
    timers_fired: int = 0
    timed_out: int = 0
    set_print: int = 0
    fired_print: int = 0
    outputs: int = 0
    grown: int = 0


encode = msgspec.json.Encoder().encode
decode_workflow = msgspec.json.Decoder(Workflow).decode
decode_window = msgspec.json.Decoder(MetricsWindow).decode
decode_totals = msgspec.json.Decoder(Totals).decode


def workflow_value(workflow: Workflow) -> bytes:
    return (ENDED if workflow.over else RUNNING) + encode(workflow)


def workflow_of(value: bytes) -> Workflow:
    return decode_workflow(value[1:])


def started_value(now_ms: int) -> bytes:
    return STARTED + b"%d" % now_ms


def failed_value(now_ms: int) -> bytes:
    return FAILED + b"%d" % now_ms


def completed_value(payload: str) -> bytes:
    """With a check sum, so that a payload which was cut or mixed up is seen in the audit."""
    body = payload.encode()
    return b"%b%08x%b" % (COMPLETED, zlib.crc32(body), body)


@dataclass(frozen=True)
class Timer:
    workflow: str
    task: int

    @classmethod
    def of(cls, value: bytes) -> Timer:
        workflow, _, task = value.decode().rpartition("/")
        return cls(workflow, int(task))

    def value(self) -> bytes:
        return f"{self.workflow}/{self.task}".encode()


def window_start_ms(now_ms: int) -> int:
    return now_ms // WINDOW_MS * WINDOW_MS
