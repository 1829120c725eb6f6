"""What is left of an engine behind its source, judged: exact to the last event, and fast enough."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.driverbench.broker import Broker
from bench.gates import Gate, GateReport, evaluate
from bench.source.backlog import Backlog
from bench.source.truth import kept_totals
from bench.source.turn import FILES, JETSTREAM, Mode, Pipeline, SourceEngine, SourceTurn
from bench.sparkbench.raw_fetch import fetch_raw

#: Reported, not gated: it depends on the machine. On two cores.
TARGETS_PER_S: Mapping[str, int] = {"spark": 50_000}

EXACT: tuple[Gate, ...] = (
    Gate("wrong_count", "==", 0, "every event that passes the filter is counted once"),
    Gate("wrong_sum", "==", 0, "and with its own value"),
)


@dataclass(frozen=True)
class SourceOutcome:
    engine: str
    pipeline: Pipeline
    events: int
    report: GateReport
    metrics: Mapping[str, float | int | None]
    turns: tuple[SourceTurn, ...]

    @property
    def name(self) -> str:
        return f"{self.engine}-{self.pipeline}-{self.events}"

    @property
    def through_source(self) -> SourceTurn:
        """The turn of median speed."""
        ours = sorted(_of(self.turns, JETSTREAM), key=lambda turn: turn.rate_per_s)
        return ours[len(ours) // 2]

    def as_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["report"] = self.report.as_dict()
        return {"name": self.name, "verdict": self.report.verdict.value, **plain}


@dataclass(frozen=True)
class Rounds:
    """`warm` turns of each kind come first and are not counted, where the engine warms up."""

    counted: int = 1
    warm: int = 0
    #: Whether the efficiency is gated: at smoke size it says nothing.
    gated: bool = False


def run_case(
    engine: SourceEngine,
    broker: Broker,
    backlog: Backlog,
    pipeline: Pipeline,
    rounds: Rounds,
    show: Callable[[str], None],
) -> SourceOutcome:
    """Files and source turn about, then the bare reader with both cores to itself."""
    turns: list[SourceTurn] = []
    warm = rounds.warm if engine.warms_up else 0
    if warm:
        show(f"{engine.variant} {pipeline}: a rehearsal")
        engine.rehearse(backlog, pipeline)
    for number in range(warm + rounds.counted):
        for mode in (FILES, JETSTREAM):
            turn = engine.play(backlog, mode, pipeline)
            show(f"{engine.variant} {pipeline} from {mode}: {turn.rate_per_s:,.0f} events/s")
            if number >= warm:
                turns.append(turn)
    raw_per_s = [fetch_raw(broker, backlog.preload).events_per_s for _ in range(rounds.counted)]
    bound = engine.least_efficiency if rounds.gated else None
    return judge(engine.variant, pipeline, backlog, turns, raw_per_s, bound)


def judge(
    engine: str,
    pipeline: Pipeline,
    backlog: Backlog,
    turns: Sequence[SourceTurn],
    raw_per_s: Sequence[float],
    least_efficiency: float | None,
) -> SourceOutcome:
    truth = kept_totals(1, backlog.events)
    raw, files, source = statistics.median(raw_per_s), _rate(turns, FILES), _rate(turns, JETSTREAM)
    target = TARGETS_PER_S.get(engine)
    metrics: dict[str, float | int | None] = {
        "raw_per_s": raw,
        "file_per_s": files,
        "source_per_s": source,
        "efficiency": source / min(raw, files),
        "target_per_s": target,
        "engine_cpu_s_per_million": _cpu(turns, lambda turn: turn.engine_cpu_s),
        # A server in a container, or someone else's, is not seen: nothing measured, not no CPU.
        "server_cpu_s_per_million": _cpu(turns, lambda turn: turn.server_cpu_s) or None,
        "wrong_count": sum(abs(turn.count - truth.count) for turn in turns),
        "wrong_sum": sum(abs(turn.sum_value - truth.sum_value) for turn in turns),
    }
    gates = EXACT
    if least_efficiency is not None:
        why = "the source must not be what limits the engine"
        gates = (*EXACT, Gate("efficiency", ">=", least_efficiency, why))
    return SourceOutcome(engine, pipeline, backlog.events, evaluate(gates, metrics), metrics, tuple(turns))


def _of(turns: Sequence[SourceTurn], mode: Mode) -> list[SourceTurn]:
    return [turn for turn in turns if turn.mode == mode]


def _rate(turns: Sequence[SourceTurn], mode: Mode) -> float:
    return statistics.median(turn.rate_per_s for turn in _of(turns, mode))


def _cpu(turns: Sequence[SourceTurn], of: Callable[[SourceTurn], float]) -> float:
    """Seconds per million events on the way through the source."""
    return statistics.median(of(turn) / turn.events * 1e6 for turn in _of(turns, JETSTREAM))
