"""The keys of the one store: every kind of object has its prefix.

Spark's map state has no range scan, only an iteration from its first key on. Its keys lie in RocksDB behind
their own length, so that shorter keys come first and keys of one length lie in the order of their bytes.
Timer keys are shorter than all others and of one length, their time in front: the iteration begins with the
timers, in time order, and a scan for what is due is the beginning of it. A scan that finds timers out of
order fails (steps.py): no timer is lost in silence should Spark one day lay its keys out differently.
"""

from __future__ import annotations

import re

#: A launch's eight hex digits and the number of the workflow in it.
_WORKFLOW_ID = re.compile(r"[0-9a-f]{8}-\d{8}")
_TIMER = "t/"
_TIMER_LENGTH = len(_TIMER) + 11 + 1 + 10
TOTALS = "the-totals-of-this-partition"
METRICS = "metrics-window/"


def workflow_id(launch: str, number: int) -> str:
    made = f"{launch}-{number:08d}"
    if not _WORKFLOW_ID.fullmatch(made):
        raise ValueError(f"workflow {launch!r} {number}: wanted eight hex digits and a number below 10^8")
    return made


def workflow_key(workflow: str) -> str:
    return f"workflow/{workflow}"


def task_run_key(workflow: str, task: int) -> str:
    return f"taskrun/{workflow}/{task:03d}"


def metrics_key(window_ms: int) -> str:
    return f"{METRICS}{window_ms:013d}"


def timer_key(due_ms: int, seq: int) -> str:
    """`seq` is the sequence of the message that set the timer: two timers of one millisecond stay two."""
    return f"{_TIMER}{due_ms:011x}/{seq:010x}"


def due_ms_of(key: str) -> int | None:
    """When a timer is due; None for a key of another kind."""
    if len(key) != _TIMER_LENGTH or not key.startswith(_TIMER):
        return None
    return int(key[len(_TIMER) : len(_TIMER) + 11], 16)
