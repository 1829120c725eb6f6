"""The charts of one run, out of its samples, histograms and resource usage."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.report.chart import Band, Chart
from bench.report.progress_charts import progress_charts
from bench.report.run import Hop, Run
from bench.report.series import Line, Values, column, mean, thinned

#: With more boundaries than this they would be a grey area, not lines.
_MOST_WINDOWS = 120
#: Above this ratio between the highest and lowest median a linear axis shows one line and a floor.
_LOGARITHMIC_FROM = 50


def run_charts(run: Run) -> list[Chart]:
    """Only those with something in them."""
    span_s = _span_s(run)
    bands = tuple(_bands(run, span_s[1]))
    charts = [
        _rate(run),
        _lag(run, span_s[1]),
        _latency(run),
        _percentiles(run),
        _hops(run),
        _slip(run),
        _cpu(run),
        _memory(run),
        *progress_charts(run.progress),
    ]
    return [_placed(chart, span_s, bands) for chart in charts if not chart.empty]


def _placed(chart: Chart, span_s: tuple[float, float], bands: tuple[Band, ...]) -> Chart:
    if chart.kind != "time":
        return chart
    fields = {**chart.__dict__, "span_s": span_s, "bands": bands}
    return Chart(**fields)


def _span_s(run: Run) -> tuple[float, float]:
    ends = [float(record["t_s"]) for record in (*run.samples[-1:], *run.resources[-1:])]
    return 0.0, max([1.0, *ends])


def _bands(run: Run, end_s: float) -> Iterator[Band]:
    if run.warmup_s:
        yield Band("warm-up", 0.0, min(run.warmup_s, end_s))
    if run.measure_s is not None and run.warmup_s + run.measure_s < end_s:
        yield Band("drain", run.warmup_s + run.measure_s, end_s)
    for outage in run.outages:
        if outage.at_s is not None and outage.lasted_ms is not None:
            yield Band("outage", outage.at_s, outage.at_s + outage.lasted_ms / 1000)


def _times(run: Run, key: str) -> list[float]:
    """Seconds of the samples; a sample without this one has at least `t_s`."""
    own = column(run.samples, key)
    return [
        float(record["t_s"]) if value is None else value
        for record, value in zip(run.samples, own, strict=True)
    ]


def _rate(run: Run) -> Chart:
    lines = [Line("in", column(run.samples, "prod_rate")), Line("out", column(run.samples, "out_rate"))]
    x, lines = thinned(_times(run, "t_s"), lines, mean)
    return Chart("Rate", "Messages a second, produced and come out.", "rate", x, lines)


def _lag(run: Run, end_s: float) -> Chart:
    x, lines = thinned(_times(run, "out_t_s"), [Line("lag", column(run.samples, "lag"))], max)
    windows_s = _windows_s(run, end_s)
    note = "Highest sequence produced minus highest come out."
    if windows_s:
        note = f"{note[:-1]}; dashed: a window ends."
    bound = next((gate.bound for gate in run.gates if gate.metric == "lag_max"), None)
    return Chart("Lag", note, "count", x, lines, windows_s=windows_s, bound=bound)


def _windows_s(run: Run, end_s: float) -> tuple[float, ...]:
    """Seconds of the run at which a window ends: the whole multiples of the window on the wall clock."""
    start_s = run.histograms.start_epoch_s
    if run.window_s is None or start_s is None or end_s / run.window_s > _MOST_WINDOWS:
        return ()
    first = math.ceil(start_s / run.window_s)
    last = math.floor((start_s + end_s) / run.window_s)
    return tuple(round(index * run.window_s - start_s, 3) for index in range(first, last + 1))


def _latency(run: Run) -> Chart:
    lines = [Line("p95", column(run.samples, "p95_ms")), Line("p99", column(run.samples, "p99_ms"))]
    x, lines = thinned(_times(run, "out_t_s"), lines, max)
    return Chart("Latency", "From the intended time, by the second in which it came out.", "ms", x, lines)


def _slip(run: Run) -> Chart:
    x, lines = thinned(_times(run, "t_s"), [Line("slip p99", column(run.samples, "slip_p99_ms"))], max)
    note = "How late the producer itself sent: the harness's own error."
    return Chart("Producer slip", note, "ms", x, lines)


def _percentiles(run: Run) -> Chart:
    """All curves over one x: HdrHistogram's 1 / (1 − percentile)."""
    tags = run.histograms.tags
    labels = {"measure": "end to end", **{name: Hop(name, {}).title for name in _hop_tags(run)}}
    curves = {
        label: dict(tags[tag].curve) for tag, label in labels.items() if tag in tags and tags[tag].curve
    }
    x = sorted({inverse for curve in curves.values() for inverse in curve})
    lines = [Line(label, [curve.get(inverse) for inverse in x]) for label, curve in curves.items()]
    medians = [value for curve in curves.values() for inverse, value in curve.items() if inverse >= 2]
    wide = bool(medians) and max(medians) > _LOGARITHMIC_FROM * max(min(medians), 0.001)
    note = "What share of the messages was faster; each step right leaves a tenth of the rest."
    return Chart("Latency by percentile", note, "ms", x, lines, kind="percentile", logarithmic=wide)


def _hop_tags(run: Run) -> list[str]:
    return [tag for tag in run.histograms.tags if tag not in ("measure", "warmup")]


def _hops(run: Run) -> Chart:
    tags = {name: run.histograms.tags[name] for name in _hop_tags(run)}
    longest = max(tags.values(), key=lambda tag: len(tag.t_s), default=None)
    t_s = longest.t_s if longest else []
    lines = [
        Line(Hop(name, {}).title, [*tag.p99_ms, *([None] * (len(t_s) - len(tag.p99_ms)))])
        for name, tag in tags.items()
    ]
    x, lines = thinned(t_s, lines, max)
    return Chart("Hop by hop", "p99 of each hop, by the second in which it was seen.", "ms", x, lines)


def _cpu(run: Run) -> Chart:
    t_s, by_component = cpu_cores(run)
    x, lines = thinned(t_s, [Line(name, values) for name, values in by_component.items()], mean)
    return Chart("CPU", "Cores in use, by component.", "cores", x, lines)


def cpu_cores(run: Run) -> tuple[list[float], dict[str, Values]]:
    """Seconds of the run, and the cores that each component used until then since the tick before."""
    t_s, rows = _ticks(run)
    by_component: dict[str, Values] = {}
    for name in _component_names(run):
        values: Values = []
        before: tuple[float, float] | None = None
        for row in rows:
            now = _usage(row.get(name))
            values.append(_cores(before, now))
            before = now if now is not None else before
        by_component[name] = values
    return t_s, by_component


def _memory(run: Run) -> Chart:
    t_s, rows = _ticks(run)
    lines = [
        Line(name, column([row.get(name, {}) for row in rows], "rss_bytes")) for name in _component_names(run)
    ]
    x, lines = thinned(t_s, lines, max)
    return Chart("Memory", "Resident memory, by component.", "bytes", x, lines)


def _component_names(run: Run) -> list[str]:
    return list(dict.fromkeys(str(record.get("name")) for record in run.resources))


def _ticks(run: Run) -> tuple[list[float], list[dict[str, dict[str, object]]]]:
    """The monitor asks one component after the other: what lies between two of the same is one tick."""
    t_s: list[float] = []
    rows: list[dict[str, dict[str, object]]] = []
    for record in run.resources:
        name = str(record.get("name"))
        if not rows or name in rows[-1]:
            t_s.append(float(record["t_s"]))
            rows.append({})
        rows[-1][name] = record
    return t_s, rows


def _usage(record: dict[str, object] | None) -> tuple[float, float] | None:
    if record is None:
        return None
    t_s, cpu_s = column([record], "t_s")[0], column([record], "cpu_s")[0]
    return None if t_s is None or cpu_s is None else (t_s, cpu_s)


def _cores(before: tuple[float, float] | None, now: tuple[float, float] | None) -> float | None:
    """None after a restart: a process that counts from zero again did not give CPU time back."""
    if before is None or now is None or now[0] <= before[0] or now[1] < before[1]:
        return None
    return (now[1] - before[1]) / (now[0] - before[0])
