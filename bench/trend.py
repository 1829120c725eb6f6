"""The trends of a report's cases out of the history, with the places where a level changed for good."""

from __future__ import annotations

from collections.abc import Sequence

from bench.change_points import ChangePoint, change_points
from bench.compare.metric import METRICS, Metric
from bench.compare.told import share
from bench.history import Entry, likeness
from bench.report import numbers
from bench.report.chart import Chart, Unit
from bench.report.run import Run
from bench.report.series import Line
from bench.report.trend_section import Trend

#: Two points are a line whatever happened.
FEWEST_RUNS = 3
#: The newest changes are told in words; all are dashed lines.
_MOST_TOLD = 2
_SHOWN: dict[str, tuple[str, Unit]] = {
    "latency_ms_p50": ("p50", "ms"),
    "latency_ms_p99": ("p99", "ms"),
    "lag_max": ("Lag", "count"),
    "output_rate_per_s": ("Rate out", "rate"),
    "cpu_s_per_million": ("CPU s per million messages", "number"),
}


def trends_of(runs: Sequence[Run], history: Sequence[Entry]) -> list[Trend]:
    """Of the cases among `runs`; what ran on another machine or with other settings is another history."""
    found: list[Trend] = []
    for case, like in dict.fromkeys((run.name, likeness(run.manifest)) for run in runs):
        entries = [one for one in history if (one.case, one.like) == (case, like) and one.figures]
        if len(entries) >= FEWEST_RUNS:
            rate = entries[-1].rate_per_s
            name = case if rate is None else f"{case} at {numbers.rate(rate)}"
            charts = [_chart(metric, entries) for metric in METRICS]
            title = f"{name}: {len(entries)} runs since {entries[0].at[:10]}"
            found.append(Trend(title, tuple(chart for chart in charts if not chart.empty)))
    return found


def _chart(metric: Metric, entries: Sequence[Entry]) -> Chart:
    title, unit = _SHOWN[metric.name]
    known = [index for index, one in enumerate(entries) if metric.name in one.figures]
    points = change_points([entries[index].figures[metric.name] for index in known], metric.threshold_share)
    at = [known[point.index] for point in points]
    told = [_told(metric, point, entries[index]) for point, index in zip(points, at, strict=True)][::-1]
    return Chart(
        title,
        _sentence(told),
        unit,
        [float(index + 1) for index in range(len(entries))],
        [Line(title, [one.figures.get(metric.name) for one in entries])],
        kind="trend",
        windows_s=tuple(index + 0.5 for index in at),
        span_s=(0.5, len(entries) + 0.5),
        labels=tuple(f"{one.at[:16].replace('T', ' ')} · {one.commit}" for one in entries),
    )


def _told(metric: Metric, point: ChangePoint, entry: Entry) -> str:
    worse = (point.change_share > 0) == (metric.better == "lower")
    size = share(abs(point.change_share)).lstrip("+")
    return f"{'worse' if worse else 'better'} by {size} since {entry.at[:10]} ({entry.commit[:8]})"


def _sentence(told: Sequence[str]) -> str:
    if not told:
        return "No lasting change."
    newest = "; before that ".join(told[:_MOST_TOLD])
    return f"{newest[0].upper()}{newest[1:]}."
