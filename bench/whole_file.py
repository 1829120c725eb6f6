"""A file written in one step: a reader, or a browser that reloads, never finds half of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
