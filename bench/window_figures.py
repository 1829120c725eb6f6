"""Figures of a windowed run: emission delay, and the troughs of the lag's sawtooth. Pure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from bench import stats
from bench.result_table import TableContent


@dataclass(frozen=True)
class WindowOutput:
    """What came out of one window."""

    end_ms: int
    rows: int
    events: int
    first_ms: float  # after the window's end
    last_ms: float
    p99_ms: float
    #: Events behind the schedule when the window's last row had come: the sawtooth's trough.
    lag: int


def windows_of(rows: TableContent, due_at_us: Callable[[int], int]) -> list[WindowOutput]:
    """By window; `due_at_us` says how many events were due at an epoch time."""
    windows: list[WindowOutput] = []
    for end_ms in np.unique(rows.window_end_ms).tolist():
        of_window = rows.window_end_ms == end_ms
        arrived_us = rows.db_insert_us[of_window]
        delay_ms = arrived_us / 1000 - end_ms
        last_us = int(arrived_us.max())
        windows.append(
            WindowOutput(
                end_ms=end_ms,
                rows=int(np.count_nonzero(of_window)),
                events=int(rows.count[of_window].sum()),
                first_ms=float(delay_ms.min()),
                last_ms=float(delay_ms.max()),
                p99_ms=float(np.percentile(delay_ms, 99)),
                lag=max(0, due_at_us(last_us) - int(rows.seq[of_window].max())),
            )
        )
    return windows


def window_metrics(
    windows: list[WindowOutput], *, from_ms: int, to_ms: int, window_ms: int, rate_per_s: int, floor_ms: float
) -> dict[str, float | int | None]:
    """Over the whole windows inside the measure time; None where there was too little to say."""
    whole = [w for w in windows if w.end_ms - window_ms >= from_ms and w.end_ms <= to_ms]
    ends_s = [w.end_ms / 1000 for w in whole]
    slope: float | None = None
    ratio: float | None = None
    with suppress(ValueError):
        slope = stats.theil_sen_slope(ends_s, [float(w.lag) for w in whole])
    with suppress(ValueError):
        ratio = stats.halves_ratio([w.p99_ms for w in whole], floor_ms)
    expected_windows = to_ms // window_ms - -(-from_ms // window_ms)
    offered = rate_per_s * expected_windows * window_ms / 1000
    return {
        "windows": len(whole),
        "rate_match": sum(w.events for w in whole) / offered if offered > 0 and whole else None,
        "lag_slope_per_s": slope,
        "lag_slope_share": None if slope is None else slope / rate_per_s,
        "latency_p99_ratio": ratio,
        "emission_delay_ms_p50": _percentile(whole, 50),
        "emission_delay_ms_p99": _percentile(whole, 99),
        "emission_delay_ms_max": max((w.last_ms for w in whole), default=None),
    }


def _percentile(windows: list[WindowOutput], percentile: float) -> float | None:
    """Of the time until a window was out completely."""
    return float(np.percentile([w.last_ms for w in windows], percentile)) if windows else None
