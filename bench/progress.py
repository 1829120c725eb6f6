"""What a person sees while a run goes: one live line on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from typing import TextIO

from bench.case import Case
from bench.sampler import Sample

_LOG_EVERY_S = 30.0
_CLEAR = "\r\x1b[2K"


class Progress:
    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._live = stream is not None and stream.isatty()
        self._label = ""
        self._total_s = 0
        self._logged_at = 0.0

    def phase(self, case: Case, run_id: str, phase: str) -> None:
        self._label = f"case {case.name} {run_id}"
        self._total_s = case.load.warmup_s + case.load.measure_s
        self._show(f"{self._label}: {phase}")

    def sample(self, sample: Sample) -> None:
        p99 = "-" if sample.p99_ms is None else f"{sample.p99_ms:.1f} ms"
        self._show(
            f"{self._label}: {sample.phase} {min(sample.t_s, self._total_s):.0f}/{self._total_s} s  "
            f"in {sample.prod_rate:,.0f}/s  out {sample.out_rate:,.0f}/s  lag {sample.lag:,}  p99 {p99}"
        )

    def _show(self, text: str) -> None:
        if self._stream is None:
            return
        if self._live:
            self._stream.write(f"{_CLEAR}{text}")
        elif time.monotonic() - self._logged_at >= _LOG_EVERY_S:
            self._logged_at = time.monotonic()
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def done(self) -> None:
        if self._stream is not None and self._live:
            self._stream.write(_CLEAR)
            self._stream.flush()
