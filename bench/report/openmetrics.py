"""metrics.openmetrics: the summary in the OpenMetrics text format, for whoever has Prometheus already.

An INVALID run appears with its verdict and its gates, never with a figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.report.row import Figures, Row
from bench.report.run import Run

Labels = Mapping[str, str]

_QUANTILES = {"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p999": "0.999", "max": "1.0"}
_MARKS = ("PASS", "FAIL", "INVALID")


@dataclass
class Family:
    """A metric and all its samples: the format wants them together."""

    name: str
    kind: str
    help: str
    unit: str = ""
    samples: dict[str, str] = field(default_factory=dict)

    def add(self, value: float | None, labels: Labels, suffix: str = "") -> None:
        if value is not None:
            inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            # By name and labels: were two folders of one run id given, a parser would refuse the twins.
            self.samples[f"{self.name}{suffix}{{{inside}}}"] = repr(value)

    def add_summary(self, figures_us: Mapping[str, float | int], labels: Labels) -> None:
        """Quantiles, count and sum in seconds."""
        for name, quantile in _QUANTILES.items():
            value = figures_us.get(name)
            self.add(None if value is None else value / 1e6, {**labels, "quantile": quantile})
        count, mean = figures_us.get("count"), figures_us.get("mean")
        self.add(None if count is None else int(count), labels, "_count")
        self.add(None if count is None or mean is None else count * mean / 1e6, labels, "_sum")

    def text(self) -> Iterator[str]:
        yield f"# TYPE {self.name} {self.kind}"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {_escaped(self.help)}"
        yield from (f"{sample} {value}" for sample, value in self.samples.items())


def openmetrics_text(runs: Sequence[Run], rows: Sequence[Row]) -> str:
    families = [
        _runs(runs),
        _verdicts(runs),
        _gates(runs),
        *_gauges(runs, rows),
        _latency(runs, rows),
        _hops(runs, rows),
        *_components(runs, rows),
    ]
    return families_text(families)


def families_text(families: Sequence[Family]) -> str:
    """The whole text; a family without a sample is left out."""
    lines = [line for family in families if family.samples for line in family.text()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(run: Run) -> dict[str, str]:
    return {"run_id": run.run_id, "case": run.case, "variant": run.variant or ""}


def _measured(runs: Sequence[Run], rows: Sequence[Row]) -> Iterator[tuple[Run, Figures]]:
    for run, row in zip(runs, rows, strict=True):
        if row.figures is not None:
            yield run, row.figures


def _runs(runs: Sequence[Run]) -> Family:
    family = Family("jetlag_run", "info", "A run and its verdict.")
    for run in runs:
        family.add(1, {**_labels(run), "verdict": run.verdict.value}, "_info")
    return family


def _verdicts(runs: Sequence[Run]) -> Family:
    family = Family("jetlag_verdict", "stateset", "Which of the three verdicts a run has.")
    for run in runs:
        for mark in _MARKS:
            family.add(int(run.verdict.value == mark), {**_labels(run), "jetlag_verdict": mark})
    return family


def _gates(runs: Sequence[Run]) -> Family:
    family = Family("jetlag_gate_passed", "gauge", "1 where a gate holds, else 0.")
    for run in runs:
        for gate in {gate.metric: gate for gate in run.gates}.values():
            labels = {**_labels(run), "gate": gate.metric, "kind": gate.kind}
            family.add(int(gate.status == "passed"), labels)
    return family


def _gauges(runs: Sequence[Run], rows: Sequence[Row]) -> list[Family]:
    per_s = "events_per_second"
    fields = {
        "target_rate_per_s": Family(f"jetlag_target_rate_{per_s}", "gauge", "Rate asked for.", per_s),
        "input_rate_per_s": Family(f"jetlag_input_rate_{per_s}", "gauge", "Mean rate produced.", per_s),
        "output_rate_per_s": Family(f"jetlag_output_rate_{per_s}", "gauge", "Mean rate out.", per_s),
        "output_rate_peak_per_s": Family(
            f"jetlag_output_rate_peak_{per_s}", "gauge", "Highest rate out.", per_s
        ),
        "lag_max": Family("jetlag_lag_max_events", "gauge", "Highest lag behind the producer.", "events"),
        "lag_slope_per_s": Family(f"jetlag_lag_slope_{per_s}", "gauge", "Robust slope of the lag.", per_s),
        "lost": Family("jetlag_lost_events", "gauge", "Acknowledged but never seen.", "events"),
        "duplicates": Family("jetlag_duplicate_events", "gauge", "Seen more than once.", "events"),
    }
    for run, figures in _measured(runs, rows):
        for name, family in fields.items():
            family.add(getattr(figures, name), _labels(run))
    return list(fields.values())


def _latency(runs: Sequence[Run], rows: Sequence[Row]) -> Family:
    family = Family("jetlag_latency_seconds", "summary", "Latency from the intended time.", "seconds")
    for run, _ in _measured(runs, rows):
        family.add_summary(run.latency_us, _labels(run))
    return family


def _hops(runs: Sequence[Run], rows: Sequence[Row]) -> Family:
    family = Family("jetlag_hop_latency_seconds", "summary", "Latency of one hop.", "seconds")
    for run, _ in _measured(runs, rows):
        for hop in run.hops:
            family.add_summary(hop.figures_us, {**_labels(run), "hop": hop.name})
    return family


def _components(runs: Sequence[Run], rows: Sequence[Row]) -> list[Family]:
    cpu = Family("jetlag_cpu_cores", "gauge", "Mean CPU of a component.", "cores")
    memory = Family("jetlag_memory_max_bytes", "gauge", "Highest resident memory of a component.", "bytes")
    delay = Family("jetlag_emission_delay_seconds", "gauge", "Window end to its result.", "seconds")
    for run, figures in _measured(runs, rows):
        for component in figures.components:
            labels = {**_labels(run), "component": component.name}
            cpu.add(component.cpu_cores_mean, labels)
            memory.add(component.rss_bytes_max, labels)
        for name, value in figures.emission_delay_ms.items():
            delay.add(value / 1000, {**_labels(run), "figure": name})
    return [cpu, memory, delay]


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    # Other line breaks and unpaired surrogates: legal in a JSON string, not in a line of UTF-8 text.
    return "".join(one if one.isprintable() else "\ufffd" for one in escaped)
