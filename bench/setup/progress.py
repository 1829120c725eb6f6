"""Progress of a long step: one rewritten line on a terminal, a line every 20 s elsewhere.

Five silent minutes look like a hang, and a CI log full of spinner frames cannot be read.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

PLAIN_INTERVAL_S = 20.0
TERMINAL_INTERVAL_S = 0.5
FRAMES = "|/-\\"


class Progress:
    """Call tick() as often as you like: it prints only when a line is due."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self.what = what
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._terminal else PLAIN_INTERVAL_S
        self._started_s = time.monotonic()
        # A step that ends before the first line is due stays silent on a plain stream.
        self._printed_s = 0.0 if self._terminal else self._started_s
        self._frame = 0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def tick(self, detail: str = "") -> None:
        now_s = time.monotonic()
        if now_s - self._printed_s < self._interval_s:
            return
        self._printed_s = now_s
        text = f"{self.what}: {detail + ', ' if detail else ''}{format_elapsed(self.elapsed_s)}"
        if self._terminal:
            self._frame += 1
            self._write(f"\r\033[K{FRAMES[self._frame % len(FRAMES)]} {text}")
        else:
            self._write(text + "\n")

    def done(self) -> None:
        """Take the moving line away; what worked needs no trace."""
        if self._terminal:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def format_elapsed(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
