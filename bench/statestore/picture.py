"""The scenarios over time, and the restores, in one picture. Plain SVG with its own background."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.markup import Html, tag
from bench.report.svg import svg
from bench.statestore.outcome import GOAL_MB_PER_S, ScenarioOutcome
from bench.statestore.restore import Restore

WIDTH = 1_080
_INK, _FAINT, _MARK = "#1b1f24", "#8a929c", "#d1242f"
_COLOURS = ("#3b528b", "#21918c", "#5ec962", "#b5367a", "#e06c00", "#440154")
_PLOT_W, _PLOT_H = 880, 170
_LEFT = 70
_ROW_H = 22


def picture(outcomes: Sequence[ScenarioOutcome], restores: Sequence[Restore]) -> Html:
    drawn = [one for one in outcomes if one.series]
    plots = 2 * (_PLOT_H + 80) + len(drawn) * 18 if drawn else 0
    height = plots + (60 + _ROW_H * len(restores) if restores else 0) + 20
    parts: list[Html] = []
    if drawn:
        parts += _over_time(drawn, 40, 1, "MB/s written, at full speed", GOAL_MB_PER_S)
        parts += _over_time(
            drawn, 40 + _PLOT_H + 80, 2, "seconds between the ends of two micro-batches", None
        )
    top = 40 + 2 * (_PLOT_H + 80) - 20 if drawn else 0
    for number, one in enumerate(drawn):
        y = top + number * 18
        parts.append(tag("rect", x=str(_LEFT), y=str(y - 9), width="12", height="12", fill=_colour(number)))
        parts.append(_text(_LEFT + 20, y + 2, one.name))
    if restores:
        parts += _bars(restores, top + len(drawn) * 18 + 30)
    return svg(parts, WIDTH, height, "MB/s written and pauses over time by scenario; restore times")


def _over_time(
    drawn: Sequence[ScenarioOutcome], top: int, column: int, title: str, goal: float | None
) -> list[Html]:
    points = [point for one in drawn for point in one.series]
    wide = max(point[0] for point in points) or 1.0
    high = max([point[column] for point in points] + ([goal * 1.05] if goal else []))
    bottom = top + 20 + _PLOT_H

    def at(x: float, y: float) -> str:
        return f"{_LEFT + x / wide * _PLOT_W:.1f},{bottom - y / high * _PLOT_H:.1f}"

    parts = [_text(_LEFT, top, title, bold=True)]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _PLOT_H
        parts.append(_line(_LEFT, y, _LEFT + _PLOT_W, y, "#e3e6ea"))
        parts.append(_text(_LEFT - 8, y + 4, f"{high * share:.1f}", anchor="end", fill=_FAINT))
    parts.append(_text(_LEFT + _PLOT_W, bottom + 16, f"{wide:.0f} s", anchor="end", fill=_FAINT))
    if goal is not None:
        y = bottom - goal / high * _PLOT_H
        parts.append(_line(_LEFT, y, _LEFT + _PLOT_W, y, _MARK))
        parts.append(_text(_LEFT + _PLOT_W + 6, y + 4, f"goal {goal:g}", fill=_MARK))
    for number, one in enumerate(drawn):
        dots = " ".join(at(point[0], point[column]) for point in one.series)
        line = tag("polyline", points=dots, fill="none", stroke=_colour(number), stroke_width="1.5")
        parts.append(line)
    return parts


def _bars(restores: Sequence[Restore], top: int) -> list[Html]:
    parts = [_text(_LEFT, top, "seconds to restore (dark) and for the first micro-batch (light)", bold=True)]
    longest = max(max(row.first_s, row.restore_s) for row in restores) or 1.0
    for number, row in enumerate(restores):
        y = top + 14 + number * _ROW_H
        name = f"{row.stores} × {row.partitions}, {row.state_bytes / 1e6:,.0f} MB"
        parts.append(_text(_LEFT + 190, y + 12, name, anchor="end"))
        for seconds, colour in ((row.first_s, "#c5cedd"), (row.restore_s, _COLOURS[0])):
            width = f"{seconds / longest * 640:.1f}"
            parts.append(tag("rect", x=str(_LEFT + 200), y=str(y), width=width, height="16", fill=colour))
        x = _LEFT + 206 + row.first_s / longest * 640
        parts.append(_text(x, y + 12, f"{row.restore_s:.2f} / {row.first_s:.2f}", fill=_FAINT))
    return parts


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> Html:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=colour)


def _text(x: float, y: float, said: str, anchor: str = "start", fill: str = _INK, bold: bool = False) -> Html:
    weight = "600" if bold else "400"
    return tag(
        "text",
        said,
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        text_anchor=anchor,
        fill=fill,
        font_size="12",
        font_weight=weight,
    )
