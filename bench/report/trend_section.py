"""The trend on the page: how each case's figures went from matrix to matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.chart import Chart
from bench.report.markup import Html, tag
from bench.report.run_section import figure

_NOTE = (
    "Medians of each matrix on this machine with these settings; dashed: from there on the level is another "
    "one. A single bad night is no such change."
)


@dataclass(frozen=True)
class Trend:
    title: str
    charts: tuple[Chart, ...]


def trend_section(trends: Sequence[Trend], first_chart: int) -> Html | None:
    """`first_chart` is the number of the first chart here among all of the page's."""
    if not trends:
        return None
    parts: list[Html] = []
    number = first_chart
    for index, trend in enumerate(trends):
        figures = [figure(chart, number + at, f"trend-{index}") for at, chart in enumerate(trend.charts)]
        parts += [tag("h3", trend.title), tag("div", figures, class_="charts")]
        number += len(trend.charts)
    return tag(
        "section",
        tag("h2", "Trend", id="trend"),
        tag("p", _NOTE, class_="muted small"),
        parts,
        class_="card run",
        aria_labelledby="trend",
    )
