"""What the driver sends: a workflow begins, a task starts, a task completes; and old state to begin with."""

from __future__ import annotations

import zlib
from typing import Literal

import msgspec

Kind = Literal["workflow", "task-start", "task-complete", "grow"]
TASKS = 100


class Message(msgspec.Struct, omit_defaults=True):
    kind: Kind
    workflow: str
    #: When it was to be sent, epoch ms: latencies count from here.
    sent_ms: int
    task: int = 0
    payload: str = ""
    #: Of a workflow: how many tasks it has.
    tasks: int = TASKS
    #: Of "grow": bytes of each TaskRun that the store makes up by itself.
    size: int = 0


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Message).decode


def task_print(workflow: str, task: int) -> int:
    """Sums of these tell whether two sets of tasks are the same without listing them."""
    return zlib.crc32(f"{workflow}/{task}".encode())
