"""What the suites with books of their own say: lines while they run, and the book at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TextIO

import pytest


class Book(Protocol):
    def empty(self) -> bool: ...

    def lines(self) -> list[str]: ...

    def write(self) -> Path: ...


def close_book(terminalreporter: pytest.TerminalReporter, suite: str, book: Book | None) -> None:
    if book is None or book.empty():
        return
    terminalreporter.section(f"jetlag {suite}")
    for line in book.lines():
        terminalreporter.line(line)
    terminalreporter.line(f"{suite}: {book.write()}")


def now_and_then(screen: TextIO, every_s: float) -> Callable[[str], None]:
    """Prints a line of progress, but not more often than that."""
    shown_at = -every_s

    def say(line: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= every_s:
            shown_at = time.monotonic()
            print(f"jetlag: {line}", file=screen, flush=True)

    return say
