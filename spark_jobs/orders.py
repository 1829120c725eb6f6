"""Orders to a job that runs on: lines of JSON that are appended to a file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_POLL_S = 0.02


def asked(path: Path, idle: Callable[[], None] = lambda: None) -> Iterator[dict[str, Any]]:
    """The orders as they are appended, until the order to end; `idle` is called while none comes."""
    read = 0
    while True:
        lines = path.read_text().split("\n")[:-1]
        if len(lines) == read:
            idle()
            time.sleep(_POLL_S)
            continue
        order = json.loads(lines[read])
        read += 1
        if order.get("end"):
            return
        yield order
