"""reports/spark.json and the tables: what was measured, and which bars it clears."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from bench.driverbench.tables import aligned
from bench.gates import Gate, GateReport, GateResult, evaluate
from bench.infra.nats_config import go_runtime
from bench.manifest import git_state
from bench.report.numbers import beside
from bench.sparkbench.ladder import Rung, emission_delay_ms_p99, sustained
from bench.sparkbench.turn import FILES, JETSTREAM, RAW, Turn, efficiency, median_turn

#: The rate at which emission delay is told, with 20,000 keys.
EMISSION_RATE = 10_000

EFFICIENCY = Gate("efficiency", ">=", 0.7, "the source must not be what limits the engine")
BARS = (
    EFFICIENCY,
    Gate("sustained_events_per_s", ">=", 60_000, "driver, broker and Spark together on two cores"),
    Gate("emission_delay_ms_p99", "<=", 1_200, f"{EMISSION_RATE:,} events/s, 20,000 keys"),
)


@dataclass(frozen=True)
class Report:
    turns: Sequence[Turn]
    rungs: Sequence[Rung]
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    bars: Sequence[Gate] = BARS

    @property
    def figures(self) -> dict[str, float | int | None]:
        return {
            "efficiency": efficiency(self.turns),
            "sustained_events_per_s": sustained(self.rungs),
            "emission_delay_ms_p99": emission_delay_ms_p99(self.rungs, EMISSION_RATE),
        }

    @property
    def judged(self) -> GateReport:
        return evaluate(self.bars, self.figures)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {
            **self.figures,
            "bars": self.judged.as_dict(),
            "turns": [asdict(turn) for turn in self.turns],
            "ladder": [asdict(rung) for rung in self.rungs],
            "settings": dict(self.settings),
            "server": go_runtime(os.environ),
            "machine": dict(self.machine),
            "git": git_state(),
        }
        path.write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2))

    def tables(self) -> list[list[str]]:
        return [self._sources(), *([self._ladder()] if self.rungs else []), self._bars()]

    def _sources(self) -> list[str]:
        head = ("source", "events/s", "client CPU s/M", "server CPU s/M")
        rows = [median_turn(self.turns, mode) for mode in (RAW, FILES, JETSTREAM)]
        return aligned([head, *(_source(row) for row in rows)], 1)

    def _ladder(self) -> list[str]:
        head = ("C-spark, events/s", "verdict", "emission p50 ms", "p99 ms", "why not")
        rows = [
            (
                f"{rung.rate_per_s:,}",
                rung.verdict,
                _number(rung.emission_delay_ms_p50),
                _number(rung.emission_delay_ms_p99),
                rung.reasons[0] if rung.reasons else "",
            )
            for rung in self.rungs
        ]
        return aligned([head, *rows], 2)

    def _bars(self) -> list[str]:
        head = ("figure", "bar", "seen", "")
        return aligned([head, *map(_bar, self.judged.results)], 1)


def _source(row: Turn) -> tuple[str, ...]:
    return (
        row.mode,
        f"{row.events_per_s:,.0f}",
        f"{row.client_cpu_s_per_million:.2f}",
        f"{row.server_cpu_s_per_million:.2f}",
    )


def _bar(result: GateResult) -> tuple[str, ...]:
    seen, bound = beside(result.gate.metric, result.observed, result.gate.bound)
    return (
        result.gate.metric,
        f"{result.gate.comparison} {bound}",
        seen,
        "holds" if result.passed else "MISSED",
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
