"""The last lines of a log that may be large."""

from __future__ import annotations

from pathlib import Path

MAX_LINE_BYTES = 400


def tail_of(path: Path, lines: int) -> str:
    """Reads no more than the end of the file; an absent file has no lines."""
    try:
        with path.open("rb") as handle:
            size = handle.seek(0, 2)
            handle.seek(max(0, size - lines * MAX_LINE_BYTES))
            text = handle.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
