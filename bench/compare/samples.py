"""A run's samples by metric: one a window where there are windows, else one a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median

from bench.compare.metric import SLIP
from bench.report.plain import Json, number
from bench.report.run import Run
from bench.report.run_charts import cpu_cores

#: (second of the run, value)
Points = list[tuple[float, float]]
Sum = Callable[[Sequence[float]], float]


def samples_of(run: Run) -> dict[str, list[float]]:
    """By the names of metric.METRICS, and the slip; a metric that the run did not measure has none."""
    seconds = [sample for sample in run.samples if sample.get("phase") == "measure"]
    latency = run.histograms.tags.get("measure")
    t_s = latency.t_s if latency else []
    found: dict[str, tuple[Points, Sum]] = {
        "latency_ms_p50": (_points(zip(t_s, latency.p50_ms if latency else [], strict=True)), median),
        "latency_ms_p99": (_points(zip(t_s, latency.p99_ms if latency else [], strict=True)), max),
        "lag_max": (_column(seconds, "out_t_s", "lag"), max),
        "output_rate_per_s": (_column(seconds, "out_t_s", "out_rate"), fmean),
        "cpu_s_per_million": (_cpu(run), fmean),
        SLIP: (_column(seconds, "t_s", "slip_p99_ms"), median),
    }
    return {name: _blocked(points, run, summed) for name, (points, summed) in found.items()}


def _blocked(points: Points, run: Run, summed: Sum) -> list[float]:
    """The values of each whole window as one; a second's value says nothing where output comes in bursts."""
    length_s, measure_s = run.window_s or 1.0, run.measure_s or 0.0
    blocks: dict[int, list[float]] = {}
    for t_s, value in points:
        # Samples are taken a little after the second they tell of; its middle is surely inside.
        blocks.setdefault(int((t_s - 0.5 - run.warmup_s) // length_s), []).append(value)
    return [summed(blocks[index]) for index in sorted(blocks) if 0 <= index < int(measure_s // length_s)]


def _column(records: Sequence[Json], time: str, key: str) -> Points:
    return _points((number(record.get(time)), number(record.get(key))) for record in records)


def _points(pairs: Iterable[tuple[float | None, float | None]]) -> Points:
    return [(t_s, value) for t_s, value in pairs if t_s is not None and value is not None]


def _cpu(run: Run) -> Points:
    """CPU seconds of all components together for a million messages sent."""
    if not run.target_rate_per_s:
        return []
    t_s, by_component = cpu_cores(run)
    points: Points = []
    for index, at_s in enumerate(t_s):
        cores = [values[index] for values in by_component.values()]
        # A second in which one component was not seen would look cheap.
        if all(one is not None for one in cores):
            points.append((at_s, sum(one or 0.0 for one in cores) / run.target_rate_per_s * 1e6))
    return points
