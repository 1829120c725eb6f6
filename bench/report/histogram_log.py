"""latency.hlog as the report needs it: each tag's percentiles, in total and second by second."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from bench.latency import LatencySummary

_NUMBER = r"(\d+(?:\.\d+)?)"
_BASE_TIME = re.compile(rf"#\[BaseTime: {_NUMBER} ")
_LINE = re.compile(rf"Tag=([A-Za-z0-9_.-]+),{_NUMBER},{_NUMBER},[0-9.]+,(\S+)")

#: HdrHistogram's own plots show no more than this: beyond it one sample decides.
_HIGHEST_INVERSE = 1e7
_STEPS_PER_HALVING = 5


@dataclass(frozen=True)
class TagSeries:
    """One tag: p50 and p99 of each interval by seconds since the run's start, and the curve of the whole."""

    t_s: list[float]
    p50_ms: list[float | None]
    p99_ms: list[float | None]
    #: (1 / (1 − percentile), ms): the x-axis of an HdrHistogram plot.
    curve: list[tuple[float, float]]


@dataclass(frozen=True)
class HistogramLog:
    tags: dict[str, TagSeries] = field(default_factory=dict)
    #: When the run's second 0 was, for window boundaries; None where the log does not say.
    start_epoch_s: float | None = None
    damaged_lines: int = 0


@dataclass
class _Tag:
    t_s: list[float] = field(default_factory=list)
    p50_ms: list[float | None] = field(default_factory=list)
    p99_ms: list[float | None] = field(default_factory=list)
    total: HdrHistogram | None = None

    def add(self, end_s: float, histogram: HdrHistogram, *, counts: bool) -> None:
        self.t_s.append(round(end_s, 3))
        summary = LatencySummary(histogram)
        for series, percentile in ((self.p50_ms, 50), (self.p99_ms, 99)):
            value_us = summary.percentile_us(percentile)
            series.append(None if value_us is None else value_us / 1000)
        if not summary.count:
            return
        if counts and self.total is None:
            self.total = histogram
        elif counts and self.total is not None:
            _merge(self.total, histogram)


def _merge(total: HdrHistogram, histogram: HdrHistogram) -> None:
    """hdrh's own add walks 23,552 counters in Python: a matrix would take a quarter of a minute."""
    mine, other = (np.frombuffer(one.counts, np.uint64) for one in (total, histogram))
    if mine.size != other.size:
        total.add(histogram)  # of another shape: rightly, however slowly
        return
    mine += other
    total.total_count += histogram.total_count


def read_histogram_log(path: Path, warmup_s: float) -> HistogramLog:
    """All whole lines of the log. The last line of a run that was killed may be cut: it is counted."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return HistogramLog()
    base_s = next((float(match[1]) for line in lines if (match := _BASE_TIME.match(line))), None)
    written = [line for line in lines if line.startswith("Tag=")]
    found = [match for line in written if (match := _LINE.fullmatch(line))]
    if not found:
        return HistogramLog(damaged_lines=len(written))
    # The sampler's first interval begins with the run; the log itself is opened a little earlier.
    zero_s = float(found[0][2])
    # Where the warm-up has a tag of its own, "measure" holds the measured alone; elsewhere leave it out here.
    apart = any(match[1] == "warmup" for match in found)
    tags: dict[str, _Tag] = {}
    read = 0
    for match in found:
        histogram = _decoded(match[4])
        if histogram is None:
            continue
        read += 1
        start_s, length_s = float(match[2]) - zero_s, float(match[3])
        counts = apart or start_s + length_s / 2 >= warmup_s
        tags.setdefault(match[1], _Tag()).add(start_s + length_s, histogram, counts=counts)
    return HistogramLog(
        {tag: TagSeries(one.t_s, one.p50_ms, one.p99_ms, _curve(one.total)) for tag, one in tags.items()},
        None if base_s is None else base_s + zero_s,
        len(written) - read,
    )


def _decoded(payload: str) -> HdrHistogram | None:
    try:
        return HdrHistogram.decode(payload)
    except Exception:  # hdrh, base64, zlib and ctypes each have their own error for half a line
        return None


def _curve(histogram: HdrHistogram | None) -> list[tuple[float, float]]:
    """Five points for each halving of the rest, as HdrHistogram's percentile files have."""
    if histogram is None:
        return []
    summary = LatencySummary(histogram)
    highest = float(min(summary.count, _HIGHEST_INVERSE))
    # The same steps for every histogram, so that the curves of a chart share their x; the last is the count.
    steps = math.ceil(_STEPS_PER_HALVING * math.log2(highest)) if highest > 1 else 0
    inverses = [2 ** (step / _STEPS_PER_HALVING) for step in range(steps)]
    curve: list[tuple[float, float]] = []
    for inverse in [*inverses, highest]:
        value_us = summary.percentile_us(100 * (1 - 1 / inverse))
        if value_us is not None:
            curve.append((round(inverse, 4), value_us / 1000))
    highest_us = summary.percentile_us(100)
    if curve and highest_us is not None:
        curve[-1] = (curve[-1][0], highest_us / 1000)  # the plot ends at the maximum that the table tells
    return curve
