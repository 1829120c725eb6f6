"""The sweep in one picture: heat maps, the Pareto front, and the collapse beside its cure. Plain SVG.

It stands in the report and in the docs alike, so it has its own background and needs no script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.report.markup import Html, tag
from bench.report.svg import svg
from bench.source.sweep import FETCH_BATCHES, LINGERS_MS, PARTITIONS, Cell, Point, front

WIDTH, HEIGHT = 1_080, 640
_INK, _FAINT, _MARK = "#1b1f24", "#8a929c", "#d1242f"
#: Dark to light, readable in grey and by the colour-blind (viridis).
_STOPS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
_CELL_W, _CELL_H = 50, 34
_PANEL_W = 345
_LOWER_TOP = 330

Bar = tuple[str, float]


def picture(points: Sequence[Point], beside: Sequence[Bar]) -> Html:
    """`beside` are rates to compare the sweep with: the engine over files, the bare reader."""
    parts: list[Html] = []
    rates = [point.events_per_s for point in points]
    scale = _Log(min(rates), max(rates), 0.0, 1.0)
    for index, partitions in enumerate(PARTITIONS):
        parts += _heat_map(points, partitions, 30 + index * _PANEL_W, scale)
    parts += _front_plot(points, 30)
    parts += _bars(points, beside, 600)
    label = "Throughput by fetch batch, linger and partitions; Pareto front; collapse and cure"
    return svg(parts, WIDTH, HEIGHT, label)


class _Log:
    """A logarithmic axis."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._high = math.log10(max(low, 1e-3)), math.log10(max(high, 1e-3))
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        span = self._high - self._low
        share = (math.log10(max(value, 1e-3)) - self._low) / span if span else 1.0
        return self._start + share * (self._end - self._start)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(math.ceil(self._low), math.floor(self._high) + 1)]


def _heat_map(points: Sequence[Point], partitions: int, left: int, scale: _Log) -> list[Html]:
    by_cell = {point.cell: point for point in points}
    parts = [_text(left, 30, f"events/s, {partitions} partition{'s'[: partitions > 1]}", size=14, bold=True)]
    top = 62
    for column, fetch in enumerate(FETCH_BATCHES):
        x = left + 40 + column * _CELL_W
        parts.append(_text(x + _CELL_W / 2, top - 8, f"{fetch:,}", anchor="middle", fill=_FAINT))
        for row, linger in enumerate(LINGERS_MS):
            y = top + row * _CELL_H
            parts += _heat_cell(by_cell.get(Cell(fetch, linger, partitions)), x, y, scale)
    for row, linger in enumerate(LINGERS_MS):
        middle = top + row * _CELL_H + _CELL_H / 2 + 4
        parts.append(_text(left + 34, middle, f"{linger} ms", anchor="end", fill=_FAINT))
    below = top + len(LINGERS_MS) * _CELL_H + 20
    parts.append(_text(left + 40, below, "columns: fetch batch; rows: linger", fill=_FAINT))
    ours = [point for point in points if point.cell.is_default and point.cell.partitions == partitions]
    for point in ours:
        said = f"default {point.cell.fetch_batch:,} × {point.cell.linger_ms} ms: {_short(point.events_per_s)}"
        parts.append(_text(left + 40, below + 18, said, fill=_MARK, bold=True))
    return parts


def _heat_cell(point: Point | None, x: float, y: float, scale: _Log) -> list[Html]:
    if point is None:
        return [_rect(x, y, _CELL_W - 2, _CELL_H - 2, "#eeeeee")]
    share = scale(point.events_per_s)
    ink = "#ffffff" if share < 0.6 else _INK
    label = _text(x + _CELL_W / 2 - 1, y + 21, _short(point.events_per_s), anchor="middle", fill=ink)
    return [_rect(x, y, _CELL_W - 2, _CELL_H - 2, _colour(share)), label]


def _front_plot(points: Sequence[Point], left: int) -> list[Html]:
    bottom, right, top = HEIGHT - 60, left + 500, _LOWER_TOP
    held, rates = [point.held_ms_p99 for point in points], [point.events_per_s for point in points]
    x, y = _Log(min(held), max(held), left + 60, right), _Log(min(rates), max(rates), bottom, top + 10)
    parts = [_text(left, top - 20, "Pareto front: events/s over time held in the source", size=14, bold=True)]
    for value in y.decades():
        parts += [_line(left + 60, y(value), right, y(value), "#dddddd")]
        parts += [_text(left + 54, y(value) + 4, _short(value), anchor="end", fill=_FAINT)]
    for value in x.decades():
        parts += [_line(x(value), top, x(value), bottom, "#dddddd")]
        parts += [_text(x(value), bottom + 18, f"{value:g} ms", anchor="middle", fill=_FAINT)]
    best = front(points)
    path = " ".join(f"{x(point.held_ms_p99):.1f},{y(point.events_per_s):.1f}" for point in best)
    parts.append(tag("polyline", points=path, fill="none", stroke=_INK, stroke_width="1.5"))
    for point in points:
        fill = _MARK if point.cell.is_default else _INK if point in best else "#b9c0c8"
        at = {"cx": f"{x(point.held_ms_p99):.1f}", "cy": f"{y(point.events_per_s):.1f}"}
        parts.append(tag("circle", tag("title", _told(point)), r="4.5", fill=fill, **at))
    parts.append(_text(left + 60, bottom + 40, "held p99; line: the front; red: the default", fill=_FAINT))
    return parts


def _bars(points: Sequence[Point], beside: Sequence[Bar], left: int) -> list[Html]:
    parts = [_text(left, _LOWER_TOP - 20, "The collapse and its cure: events/s", size=14, bold=True)]
    bars = [*collapse_bars(points), *beside]
    width = _Log(min(rate for _, rate in bars) / 3, max(rate for _, rate in bars), 0, 210)
    for row, (name, rate) in enumerate(bars):
        y = _LOWER_TOP + 6 + row * 40
        parts.append(_text(left + 180, y + 17, name, anchor="end"))
        fill = _MARK if row == 0 else "#2f6f9f"
        parts.append(_rect(left + 188, y, width(rate), 24, fill))
        parts.append(_text(left + 194 + width(rate), y + 17, _short(rate), bold=True))
    parts.append(_text(left + 188, _LOWER_TOP + 24 + len(bars) * 40, "logarithmic", fill=_FAINT))
    return parts


def collapse_bars(points: Sequence[Point]) -> list[Bar]:
    """At the default's best number of partitions: one event at a time, 256 or 5 ms, and the default."""
    best = max((p for p in points if p.cell.is_default), key=lambda p: p.events_per_s, default=None)
    if best is None:
        return [(point.cell.name, point.events_per_s) for point in points]
    by_cell = {point.cell: point.events_per_s for point in points}
    partitions = best.cell.partitions
    alone = [rate for cell, rate in by_cell.items() if (cell.fetch_batch, cell.partitions) == (1, partitions)]
    named = [("one event at a time", max(alone))] if alone else []
    cure = by_cell.get(Cell(256, 5, partitions))
    if cure is not None:
        named.append(("256 events or 5 ms", cure))
    return [*named, ("the default", best.events_per_s)]


def _told(point: Point) -> str:
    return f"{point.cell.name}: {point.events_per_s:,.0f} events/s, held p99 {point.held_ms_p99:.2f} ms"


def _short(rate: float) -> str:
    if rate >= 1e6:
        return f"{rate / 1e6:.1f}M"
    return f"{rate / 1e3:.0f}k" if rate >= 9_950 else f"{rate / 1e3:.1f}k" if rate >= 1_000 else f"{rate:.0f}"


def _colour(share: float) -> str:
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(_STOPS[low], _STOPS[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    fill: str = _INK,
    size: int = 12,
    bold: bool = False,
) -> Html:
    weight = "600" if bold else None
    at = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return tag("text", text, text_anchor=anchor, fill=fill, font_size=str(size), font_weight=weight, **at)


def _rect(x: float, y: float, width: float, height: float, fill: str) -> Html:
    size = {"width": f"{max(width, 0):.1f}", "height": f"{height:.1f}"}
    return tag("rect", x=f"{x:.1f}", y=f"{y:.1f}", rx="2", fill=fill, **size)


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str) -> Html:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=stroke)
