"""Orders for a job that plays turns: lines of JSON that somebody appends to a file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_POLL_S = 0.02


def orders(path: Path) -> Iterator[dict[str, Any]]:
    """As they are appended, until {"end": true}."""
    read = 0
    while True:
        lines = path.read_text().split("\n")[:-1]
        if len(lines) == read:
            time.sleep(_POLL_S)
            continue
        asked: dict[str, Any] = json.loads(lines[read])
        read += 1
        if asked.get("end"):
            return
        yield asked
