"""What a person sees while a run goes: one live line on a terminal, a line now and then in a log."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import TextIO

from bench.case import Case
from bench.sampler import Sample

_LOG_EVERY_S = 30.0
_CLEAR = "\r\x1b[2K"
_USUAL_COLUMNS = 80


class Progress:
    """`overall` says where the whole matrix stands; empty outside one."""

    def __init__(self, stream: TextIO | None, overall: Callable[[], str] = str) -> None:
        self._stream = stream
        self._overall = overall
        self._live = stream is not None and stream.isatty()
        self._case = self._run_id = ""
        self._total_s = 0
        self._logged_at = -math.inf

    def phase(self, case: Case, run_id: str, phase: str) -> None:
        self._case, self._run_id = case.name, run_id
        self._total_s = case.load.warmup_s + case.load.measure_s
        self._show(f"case {case.name} {phase}  {run_id}")

    def say(self, line: str) -> None:
        """A line that stays."""
        if self._stream is not None:
            self._stream.write(f"{_CLEAR if self._live else ''}jetlag: {line}\n")
            self._stream.flush()

    def sample(self, sample: Sample) -> None:
        p99 = "-" if sample.p99_ms is None else f"{sample.p99_ms:.1f} ms"
        self._show(
            f"case {self._case} {sample.phase} {min(sample.t_s, self._total_s):.0f}/{self._total_s} s  "
            f"in {sample.prod_rate:,.0f}/s  out {sample.out_rate:,.0f}/s  lag {sample.lag:,}  p99 {p99}  "
            f"{self._run_id}"
        )

    def _show(self, text: str) -> None:
        if self._stream is None:
            return
        if overall := self._overall():
            text = f"{overall}  {text}"
        if self._live:
            # A line that wraps cannot be cleared: each second would leave a row behind.
            self._stream.write(f"{_CLEAR}{text[: _columns(self._stream) - 1]}")
        elif time.monotonic() - self._logged_at >= _LOG_EVERY_S:
            self._logged_at = time.monotonic()
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def done(self) -> None:
        if self._stream is not None and self._live:
            self._stream.write(_CLEAR)
            self._stream.flush()


def _columns(terminal: TextIO) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS
