"""The pipeline's end when it is TiDB: what the validator's polls have seen."""

from __future__ import annotations

from collections.abc import Mapping

from bench.contract.metric_lines import DbLine, ObsLine
from bench.latency import LatencyRecorder
from bench.sampler import OutputState
from bench.validator import Validator

#: The sampler waits this long for a poll; a slower database shows as a stale line and a growing lag.
POLL_WAIT_S = 0.5


class TableOutput:
    line_type: type[ObsLine] | type[DbLine] = DbLine

    def __init__(self, validator: Validator, further: Mapping[str, LatencyRecorder]) -> None:
        self._validator = validator
        self._further = dict(further)

    def state(self) -> OutputState:
        state = self._validator.refresh(POLL_WAIT_S)
        return OutputState(state.rows, state.max_seq)

    def recorders(self) -> dict[str, LatencyRecorder]:
        return {"measure": self._validator.state.latency, **self._further}
