"""Half of the cores for the server, half for who reads from it: what one costs, the other does not pay."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.driverbench.errors import TurnFailed


@contextmanager
def cores_apart(server_pids: Sequence[int]) -> Iterator[int]:
    """We, and what we start, have the first half; yields how many cores that is."""
    ours = sorted(os.sched_getaffinity(0))
    half = len(ours) // 2
    if not half:
        raise TurnFailed("--apart wants two cores or more")
    for pid in server_pids:
        _confine(pid, ours[half:])
    os.sched_setaffinity(0, ours[:half])
    try:
        yield half
    finally:
        os.sched_setaffinity(0, ours)


def _confine(pid: int, cores: Sequence[int]) -> None:
    """Every thread by itself: the call on a process is about its first thread only."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)
