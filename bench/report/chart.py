"""A chart as a value: what report.js draws, and what a reader is told who cannot see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.report import numbers
from bench.report.series import Line

Unit = Literal["rate", "count", "ms", "bytes", "cores", "number"]
BandKind = Literal["warm-up", "drain", "outage"]

_SHOW: dict[str, Callable[[float | None], str]] = {
    "rate": numbers.rate,
    "count": numbers.count,
    "ms": numbers.milliseconds,
    "bytes": numbers.size,
    "cores": numbers.cores,
    "number": numbers.count,
}


@dataclass(frozen=True)
class Band:
    """A stretch of time that is shaded."""

    kind: BandKind
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Chart:
    title: str
    note: str
    unit: Unit
    x: list[float]
    lines: list[Line]
    kind: Literal["time", "percentile", "trend"] = "time"
    bands: tuple[Band, ...] = ()
    #: Vertical lines where a window ends.
    windows_s: tuple[float, ...] = ()
    #: A horizontal line that the values should stay below.
    bound: float | None = None
    logarithmic: bool = False
    #: All time charts of a run share their x-axis.
    span_s: tuple[float, float] | None = field(default=None)
    #: What a point of a trend is called: the run's date and commit.
    labels: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not any(value is not None for line in self.lines for value in line.values)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "unit": self.unit,
            "x": self.x,
            "lines": [{"label": line.label, "values": line.values} for line in self.lines],
            "bands": [{"kind": band.kind, "from": band.from_s, "to": band.to_s} for band in self.bands],
            "windows": list(self.windows_s),
            "bound": self.bound,
            "log": self.logarithmic,
            "span": self.span_s,
            "labels": list(self.labels),
        }

    def told(self) -> str:
        """The chart in words, for a screen reader."""
        show = _SHOW[self.unit]
        parts = []
        for line in self.lines:
            there = [value for value in line.values if value is not None]
            if there:
                low, high, last = (show(value) for value in (min(there), max(there), there[-1]))
                parts.append(f"{line.label} from {low} to {high}, last {last}")
        return f"{self.title}: {'; '.join(parts) or 'nothing measured'}"
