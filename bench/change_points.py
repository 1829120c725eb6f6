"""Where a figure's history changed for good: not one bad night, but every night since.

ruptures finds where a history splits best; a split counts only if Mann–Whitney tells its two sides apart and
they differ by a share that matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruptures
from scipy.ndimage import median_filter

from bench.compare.statistics import FEWEST, chance, relative_change

ALPHA = 0.05
#: Older runs than this say nothing about today.
MOST_RUNS = 365
#: Per change, in units of log n: 2 is the classic criterion (BIC); 3 has fewer false alarms in short ones.
_PENALTY = 3.0
#: Median of |x - y| of two independent normal values, in standard deviations.
_MEDIAN_DIFFERENCE = 0.9539
#: A run farther than this from its neighbours, in units of the noise, counts as if it were this far.
_FARTHEST = 2.5


@dataclass(frozen=True)
class ChangePoint:
    #: The first run of the new level.
    index: int
    before: float
    after: float

    @property
    def change_share(self) -> float:
        return relative_change([self.before], [self.after])


def change_points(history: Sequence[float], threshold_share: float) -> list[ChangePoint]:
    """Oldest first; none where there are fewer than 4 runs on either side."""
    skipped = max(0, len(history) - MOST_RUNS)
    values = np.asarray(history[skipped:], np.float64)
    if values.size < 2 * FEWEST:
        return []
    # Noise grows with the level: on a logarithmic scale it is the same everywhere.
    scale = np.log(np.maximum(values, 1e-9)) if values.min() > 0 else values
    noise = float(np.median(np.abs(np.diff(scale)))) / _MEDIAN_DIFFERENCE
    if noise == 0.0:
        noise = float(np.std(scale)) / 10 or 1.0
    # One night that was three times as slow would pull a whole stretch with it.
    around = median_filter(scale, size=5, mode="nearest")
    scale = np.clip(scale, around - _FARTHEST * noise, around + _FARTHEST * noise)
    found = ruptures.KernelCPD(kernel="linear", min_size=FEWEST).fit((scale / noise).reshape(-1, 1))
    cuts = [0, *found.predict(pen=_PENALTY * math.log(values.size))]
    pieces = [values[start:end] for start, end in pairwise(cuts)]
    points = []
    for start, before, after in zip(cuts[1:], pieces, pieces[1:], strict=False):
        change = abs(relative_change(before.tolist(), after.tolist()))
        if change > threshold_share and chance(before.tolist(), after.tolist()) < ALPHA:
            points.append(
                ChangePoint(int(skipped + start), float(np.median(before)), float(np.median(after)))
            )
    return points
