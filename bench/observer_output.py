"""The pipeline's end when it is an observer, of events (case A) or of results (case C)."""

from __future__ import annotations

from bench.contract.metric_lines import DbLine, ObsLine
from bench.latency import LatencyRecorder
from bench.observer import EventObserver
from bench.result_observer import ResultObserver
from bench.sampler import OutputState


class ObserverOutput:
    line_type: type[ObsLine] | type[DbLine] = ObsLine

    def __init__(self, observer: EventObserver | ResultObserver, first_hop: str) -> None:
        self._observer = observer
        self._first_hop = first_hop

    def state(self) -> OutputState:
        return OutputState(self._observer.received, self._observer.max_seq)

    def recorders(self) -> dict[str, LatencyRecorder]:
        observer = self._observer
        return {
            "warmup": observer.latency.warmup,
            "measure": observer.latency.measure,
            self._first_hop: observer.to_stored,
            "stored_to_observed": observer.from_stored,
        }
