"""Once a second: the metric lines, the run's JSON lines, and the intervals of the histograms."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

from bench.clock import RunClock
from bench.contract.metric_lines import DbLine, ObsLine, ProdLine
from bench.latency import LatencyRecorder, LatencySummary
from bench.phases import Phases
from bench.producer import Producer
from bench.pulse import Pulse
from bench.runfiles import RunFiles

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class OutputState:
    """What has come out of the pipeline so far."""

    count: int
    max_seq: int


class Output(Protocol):
    """The pipeline's end as the sampler sees it: the observer, or the table."""

    line_type: type[ObsLine] | type[DbLine]

    def state(self) -> OutputState: ...

    def recorders(self) -> dict[str, LatencyRecorder]:
        """Latency recorders by tag; those tagged "warmup" and "measure" make p95 and p99."""
        ...


@dataclass(frozen=True)
class Sample:
    t_s: float
    out_t_s: float
    phase: str
    prod_max_seq: int
    prod_sent: int
    prod_acked: int
    prod_rate: float
    out_count: int
    out_max_seq: int
    out_rate: float
    lag: int
    p95_ms: float | None
    p99_ms: float | None
    slip_p99_ms: float | None


class Sampler:
    def __init__(
        self,
        files: RunFiles,
        run_id: str,
        clock: RunClock,
        phases: Phases,
        producer: Producer,
        pulse: Pulse,
        output: Output,
        on_sample: Callable[[Sample], None],
    ) -> None:
        self._files = files
        self._run_id = run_id
        self._clock = clock
        self._phases = phases
        self._producer = producer
        self._pulse = pulse
        self._output = output
        self._on_sample = on_sample
        self._ticks = 0
        self._last_sent = self._last_out = 0
        self._last_sent_ns = self._last_out_ns = phases.start_ns
        self.samples: list[Sample] = []

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                due_ns = self._phases.start_ns + (self._ticks + 1) * _SECOND_NS
                wait_s = (due_ns - self._clock.now_ns()) / 1e9
                if wait_s > 0 and stop.wait(wait_s):
                    break
                self._tick(due_ns)
                self._ticks += 1
        finally:
            self._pulse.close()

    def write_rest(self) -> None:
        """The last interval of the histograms, once all drivers have stopped: else it is in no log."""
        self._take_intervals(max(self._clock.now_ns(), self._last_out_ns))

    def _tick(self, due_ns: int) -> None:
        # Each count is read together with its time: what is waited for below must not stretch a rate.
        sent, sent_ns = self._producer.sent, self._clock.now_ns()
        heartbeat = self._pulse.listen(0.3)
        prod_max_seq = heartbeat.prod_max_seq if heartbeat is not None else 0
        out, out_ns = self._output.state(), self._clock.now_ns()
        intervals = self._take_intervals(out_ns)
        sample = Sample(
            t_s=self._since_start_s(sent_ns),
            out_t_s=self._since_start_s(out_ns),
            phase=self._phases.name(due_ns - 1),
            prod_max_seq=prod_max_seq,
            prod_sent=sent,
            prod_acked=self._producer.acked,
            prod_rate=(sent - self._last_sent) * 1e9 / (sent_ns - self._last_sent_ns),
            out_count=out.count,
            out_max_seq=out.max_seq,
            out_rate=(out.count - self._last_out) * 1e9 / (out_ns - self._last_out_ns),
            lag=max(0, prod_max_seq - out.max_seq),
            p95_ms=_ms(intervals, 95),
            p99_ms=_ms(intervals, 99),
            slip_p99_ms=_percentile_ms(LatencySummary(self._producer.slip.take_interval()), 99),
        )
        self._last_sent, self._last_sent_ns = sent, sent_ns
        self._last_out, self._last_out_ns = out.count, out_ns
        if sample.phase != "drain":
            self._print(sample)
        self._files.metric(asdict(sample))
        self.samples.append(sample)
        self._on_sample(sample)

    def _since_start_s(self, at_ns: int) -> float:
        return round((at_ns - self._phases.start_ns) / 1e9, 4)

    def _print(self, sample: Sample) -> None:
        rate = round(sample.prod_rate)
        self._files.line(ProdLine(rate, sample.prod_sent, self._run_id).format())
        line = self._output.line_type(
            round(sample.out_rate), sample.out_max_seq, sample.lag, sample.p95_ms, sample.p99_ms, self._run_id
        )
        self._files.line(line.format())

    def _take_intervals(self, now_ns: int) -> list[LatencySummary]:
        start_s, end_s = (self._clock.epoch_ns(at_ns) / 1e9 for at_ns in (self._last_out_ns, now_ns))
        shown: list[LatencySummary] = []
        for tag, recorder in self._output.recorders().items():
            histogram = recorder.take_interval()
            self._files.interval(tag, histogram, start_s, end_s)
            if tag in ("warmup", "measure"):
                shown.append(LatencySummary(histogram))
        return shown


def _ms(intervals: list[LatencySummary], percentile: float) -> float | None:
    """Of the interval with most samples: in the one second where phases change, both have some."""
    busiest = max(intervals, key=lambda summary: summary.count, default=None)
    return None if busiest is None else _percentile_ms(busiest, percentile)


def _percentile_ms(summary: LatencySummary, percentile: float) -> float | None:
    value_us = summary.percentile_us(percentile)
    return None if value_us is None else value_us / 1000
