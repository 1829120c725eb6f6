"""The frame of a drawing: plain SVG on a ground of its own, so that it looks the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.markup import Html, tag


def svg(parts: Sequence[Html], width: int, height: int, label: str) -> Html:
    """`label` is what somebody hears who does not see it."""
    ground = tag("rect", width=str(width), height=str(height), fill="#ffffff")
    return tag(
        "svg",
        [ground, *parts],
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
        aria_label=label,
        font_family="system-ui, sans-serif",
    )
