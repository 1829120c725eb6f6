"""The summary's columns for tables that people read: heading, and how a row's figures look in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.report import numbers
from bench.report.row import Figures, Row


@dataclass(frozen=True)
class Column:
    heading: str
    show: Callable[[Figures], str]


_EMISSION = Column("emission delay", lambda figures: emission_delay(figures.emission_delay_ms))

_COLUMNS = (
    Column("peak rate", lambda figures: numbers.rate(figures.output_rate_peak_per_s)),
    Column("mean rate", lambda figures: numbers.rate(figures.output_rate_per_s)),
    Column("p50", lambda figures: numbers.milliseconds(figures.latency_ms_p50)),
    Column("p95", lambda figures: numbers.milliseconds(figures.latency_ms_p95)),
    Column("p99", lambda figures: numbers.milliseconds(figures.latency_ms_p99)),
    Column("max", lambda figures: numbers.milliseconds(figures.latency_ms_max)),
    Column("lag max", lambda figures: numbers.count(figures.lag_max)),
    Column("lag trend", lambda figures: trend(figures)),
    Column("lost", lambda figures: numbers.count(figures.lost)),
    Column("dup.", lambda figures: numbers.count(figures.duplicates)),
    Column("CPU · memory", lambda figures: "\n".join(resources(figures))),
)


def columns_of(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Emission delay has a column where a run has one: without windows there is no such thing."""
    delayed = any(row.figures is not None and row.figures.emission_delay_ms for row in rows)
    return (*_COLUMNS[:-1], _EMISSION, _COLUMNS[-1]) if delayed else _COLUMNS


def trend(figures: Figures) -> str:
    """The word, then the slope."""
    return f"{figures.lag_trend}\n{numbers.slope(figures.lag_slope_per_s)}"


def resources(figures: Figures) -> list[str]:
    """One line a component."""
    return [
        f"{one.name} {numbers.cores(one.cpu_cores_mean)} · {numbers.size(one.rss_bytes_max)}"
        for one in figures.components
    ]


def emission_delay(delay_ms: dict[str, float | int]) -> str:
    return "\n".join(f"{name} {numbers.milliseconds(value)}" for name, value in delay_ms.items()) or (
        numbers.NOTHING
    )
