"""Spark's exceptions carry whole tracebacks of JVM and Python; a person needs the sentence in the middle."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

_OURS = re.compile(r"^(?:spark_jobs\.[\w.]+|bench\.wire\.[\w.]+)\.(\w+): (.+)$", re.MULTILINE)
_ANY = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_LONGEST = 500


def one_line(error: BaseException) -> str:
    """Our own error if one is in there, otherwise the last that Python raised, otherwise the first line."""
    text = str(error)
    found = _OURS.findall(text) or _ANY.findall(text)
    line = found[-1][1] if found else text.strip().split("\n", 1)[0] or type(error).__name__
    return line[:_LONGEST]


def ended(name: str, job: Callable[[], int | None]) -> int:
    """The job's exit code; an error is one line on stderr and 1."""
    try:
        return job() or 0
    except Exception as error:
        print(f"{name}: error: {one_line(error)}", file=sys.stderr)
        return 1
