"""Columns of numbers for charts: taken out of records, thinned where a run is long, short in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.report.plain import Json, number

Values = list[float | None]
Pick = Callable[[list[float]], float]

#: More points than a chart has pixels say nothing more; a run of days must not make a page of 100 MB.
MAX_POINTS = 1_200


@dataclass(frozen=True)
class Line:
    label: str
    values: Values


def column(records: Sequence[Json], key: str) -> Values:
    return [number(record.get(key)) for record in records]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def thinned(t_s: Sequence[float], lines: Sequence[Line], pick: Pick) -> tuple[list[float], list[Line]]:
    """At most MAX_POINTS points, each the `pick` of a stretch: the worst of it, or its mean."""
    stretch = -(-len(t_s) // MAX_POINTS) or 1
    starts = range(0, len(t_s), stretch)
    return (
        [_short(t_s[min(start + stretch, len(t_s)) - 1]) for start in starts],
        [
            Line(line.label, [_picked(line.values[start : start + stretch], pick) for start in starts])
            for line in lines
        ],
    )


def _picked(values: Values, pick: Pick) -> float | None:
    there = [value for value in values if value is not None]
    return _short(pick(there)) if there else None


def _short(value: float) -> float | int:
    """Five digits are finer than a pixel."""
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
