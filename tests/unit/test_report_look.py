"""What a reader sees: contrast of the colours, and numbers with the unit that fits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.report import numbers

ROOT = Path(__file__).parents[2]


def themes() -> list[dict[str, str]]:
    style = (ROOT / "bench/report/assets/report.css").read_text()
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", style)
    found = [dict(re.findall(r"--([a-z0-9-]+): ([^;]+);", block)) for block in blocks]
    assert len(found) == 3
    return found


def contrast(one: str, other: str) -> float:
    """WCAG 2's ratio of two #rrggbb."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_enough_in_both_themes() -> None:
    """Were this to fail, some readers could not tell the words or the lines from their ground."""
    light, dark, toggled = themes()
    assert dark == toggled, "the system's dark theme and the button's must be the same"
    for theme in (light, dark):
        for text in ("text", "muted", "accent", "pass", "fail", "invalid", "bound"):
            for ground in ("card", "ground"):
                assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        for mark in ("pass", "fail", "invalid", "not-run"):
            assert contrast(theme[mark], theme[f"{mark}-ground"]) >= 4.5, mark
        assert contrast(theme["text"], theme["invalid-ground"]) >= 4.5
        for series in range(8):
            assert contrast(theme[f"s{series}"], theme["card"]) >= 3, series


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0.0 ms"), (0.004072, "4.1 µs"), (0.42, "0.42 ms"), (4.1, "4.1 ms"), (99.96, "100 ms"),
     (999.6, "1.00 s"), (2594.8, "2.59 s"), (10_657.8, "10.7 s"), (150_000, "2.5 min")],
)  # fmt: skip
def test_milliseconds(value: float | None, shown: str) -> None:
    """Were this to fail, a reader would misread a latency by its unit."""
    assert numbers.milliseconds(value) == shown


def test_a_value_just_past_its_bound_does_not_look_equal_to_it() -> None:
    """Were this to fail, a violated gate would read "50.0 ms, wanted ≤ 50.0 ms"."""
    assert numbers.beside("slip_ms_p99", 50.007, 50) == ("50.007", "50")
    assert numbers.beside("lag_max", 4002, 4000.0) == ("4,002", "4,000")
