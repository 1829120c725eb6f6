"""A live case second by second: rows stored and how late they were; a kill -9 shows as a gap. Plain SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.joins.outcome import JoinOutcome
from bench.joins.seconds import Second
from bench.report.markup import Html, tag
from bench.report.svg import svg

WIDTH, PANEL_HEIGHT = 1_080, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 28
_INK, _FAINT, _RATE, _LATE = "#1b1f24", "#8a929c", "#2f6f9f", "#d1242f"
Place = Callable[[float], float]
#: A panel needs this much to show.
_LEAST_SECONDS = 5
#: A second or two without a row is a long micro-batch; more is an outage.
_SILENCE_S = 3


def picture(outcomes: Sequence[JoinOutcome]) -> Html | None:
    """None where no case was long enough to draw."""
    drawn = [one for one in outcomes if len(one.seconds) >= _LEAST_SECONDS]
    if not drawn:
        return None
    parts: list[Html] = []
    for row, one in enumerate(drawn):
        parts += _panel(one, row * PANEL_HEIGHT)
    label = "Rows joined and their delay, second by second, of every live case"
    return svg(parts, WIDTH, PANEL_HEIGHT * len(drawn), label)


def _panel(one: JoinOutcome, top: int) -> list[Html]:
    seconds = one.seconds
    last_s = max(second.t_s for second in seconds) + 1
    most_rows = max(second.rows for second in seconds)
    most_ms = max(second.p99_ms for second in seconds)
    floor = top + PANEL_HEIGHT - _BOTTOM

    def x(t_s: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * t_s / last_s

    def y(share: float) -> float:
        return floor - (floor - top - _TOP) * share

    title = f"{one.name}: rows a second (blue, up to {most_rows:,}), delay p99 (red, up to {most_ms:,.0f} ms)"
    parts = [_text(_LEFT, top + 20, title, bold=True)]
    parts += [_bar(second, x, y, most_rows) for second in seconds]
    for run in _without_silence(seconds):
        points = " ".join(f"{x(one.t_s + 0.5):.1f},{y(one.p99_ms / most_ms):.1f}" for one in run)
        parts.append(tag("polyline", points=points, fill="none", stroke=_LATE, stroke_width="1.8"))
    parts.append(_text(_LEFT, floor + 18, "0 s", fill=_FAINT))
    parts.append(_text(WIDTH - _RIGHT, floor + 18, f"{last_s:.0f} s", fill=_FAINT, anchor="end"))
    return parts


def _without_silence(seconds: Sequence[Second]) -> list[list[Second]]:
    """A line drawn through an outage would show delays that nobody had."""
    runs: list[list[Second]] = []
    for second in seconds:
        if not runs or second.t_s - runs[-1][-1].t_s > _SILENCE_S:
            runs.append([])
        runs[-1].append(second)
    return runs


def _bar(second: Second, x: Place, y: Place, most: int) -> Html:
    left, right, top, floor = x(second.t_s), x(second.t_s + 1), y(second.rows / most), y(0)
    size = {"width": f"{max(0.5, right - left - 0.5):.1f}", "height": f"{floor - top:.1f}"}
    return tag("rect", x=f"{left:.1f}", y=f"{top:.1f}", fill=_RATE, fill_opacity="0.55", **size)


def _text(
    x: float, y: float, text: str, *, fill: str = _INK, anchor: str = "start", bold: bool = False
) -> Html:
    weight = "600" if bold else None
    at = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return tag("text", text, text_anchor=anchor, fill=fill, font_size="12", font_weight=weight, **at)
