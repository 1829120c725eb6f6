"""Where an event's time goes on its way from the server into Spark's result, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

from bench.source.turn import SourceTurn

#: From Spark's progress: what a micro-batch costs beside the work on its events.
_PLANNING = ("latestOffset", "getBatch", "queryPlanning")
_COMMIT = ("walCommit", "commitOffsets")


@dataclass(frozen=True)
class Stage:
    name: str
    #: Seconds per million events; None where a stage is not measured by its CPU.
    cpu_s_per_million: float | None
    #: Per micro-batch, from Spark's progress; None where it is not part of it.
    wall_ms_per_batch: float | None


def stages(filtered: SourceTurn, aggregated: SourceTurn) -> list[Stage]:
    """The JVM's part of the filter is decoding; what the aggregate takes beyond that is its own."""
    source, detail = aggregated.detail["source"], aggregated.detail
    in_source = {stage: _per_million(cpu_s, aggregated) for stage, cpu_s in source["cpu_s"].items()}
    python = _per_million(detail["python_cpu_s"], aggregated)
    decode = _per_million(filtered.detail["jvm_cpu_s"], filtered)
    return [
        Stage("nats-server", _per_million(aggregated.server_cpu_s, aggregated), None),
        Stage("fetch: socket to frames", in_source["fetch"], None),
        Stage("parse: JSON to Arrow", in_source["parse"], None),
        Stage("hand-over: Arrow to the JVM", in_source["hand_over"], None),
        Stage("the rest of Python: workers, driver", python - sum(in_source.values()), None),
        Stage("JVM: decode, filter (and plan)", decode, None),
        Stage("JVM: aggregate", _per_million(detail["jvm_cpu_s"], aggregated) - decode, None),
        Stage("offsets and planning", None, _per_batch(aggregated, _PLANNING)),
        Stage("reading, aggregating, writing (addBatch)", None, _per_batch(aggregated, ("addBatch",))),
        Stage("commit: offset and commit logs", None, _per_batch(aggregated, _COMMIT)),
        Stage("commit: state (a task's, summed)", None, _state(aggregated, "commit")),
        Stage("whole micro-batch", None, _per_batch(aggregated, ("triggerExecution",))),
    ]


def _per_million(cpu_s: float, turn: SourceTurn) -> float:
    return cpu_s / turn.events * 1e6


def _per_batch(turn: SourceTurn, names: tuple[str, ...]) -> float:
    durations: dict[str, int] = turn.detail["durations_ms"]
    return float(sum(durations.get(name, 0) for name in names) / turn.detail["batches"])


def _state(turn: SourceTurn, name: str) -> float:
    return float(turn.detail["state_ms"].get(name, 0) / turn.detail["batches"])
