"""What an engine tells of itself, whatever its fields are called: a chart for each that changes."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.chart import Chart, Unit
from bench.report.plain import Json, mapping, number
from bench.report.series import Line, column, thinned

#: A page is to be read: an engine with more fields than this has its own tools.
MOST_CHARTS = 8
_MOST_LINES = 8
_COUNTERS = ("batch_id",)
_UNITS: tuple[tuple[str, Unit], ...] = (("_ms", "ms"), ("_bytes", "bytes"), ("_per_s", "rate"))


def progress_charts(progress: Sequence[Json]) -> list[Chart]:
    """Numbers that change; and groups of numbers whose name tells a unit, since only they share an axis."""
    during = [record for record in progress if float(record["t_s"]) >= 0]
    charts: list[Chart] = []
    for kind in dict.fromkeys(str(record["kind"]) for record in during):
        records = [record for record in during if str(record["kind"]) == kind]
        charts += [_chart(kind, field, records) for field in _fields(records)]
    return [chart for chart in charts if chart.lines][:MOST_CHARTS]


def _fields(records: Sequence[Json]) -> list[str]:
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if name not in ("t_s", "kind", *_COUNTERS)]


def _unit(field: str) -> Unit:
    return next((unit for ending, unit in _UNITS if field.endswith(ending)), "number")


def _chart(kind: str, field: str, records: Sequence[Json]) -> Chart:
    groups = [mapping(record.get(field)) for record in records]
    if any(groups):
        names = dict.fromkeys(name for group in groups for name in group) if _unit(field) != "number" else {}
        lines = [Line(name, column(groups, name)) for name in names]
        lines.sort(key=lambda line: -max((value or 0 for value in line.values), default=0))
    else:
        lines = [Line(_words(field), [number(record.get(field)) for record in records])]
    lines = [line for line in lines if len({value for value in line.values if value is not None}) > 1]
    x, lines = thinned([float(record["t_s"]) for record in records], lines[:_MOST_LINES], max)
    title = f"{_words(kind).capitalize()}: {_words(field)}"
    return Chart(title, "As the engine tells it.", _unit(field), x, lines)


def _words(name: str) -> str:
    """Without the unit that the axis tells; a rate keeps it, to be told from its count."""
    return name.removesuffix("_ms").removesuffix("_bytes").replace("_per_s", " per second").replace("_", " ")
