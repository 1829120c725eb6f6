"""reports/driver.json: the ratios on top, and every turn they were made of."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from bench.driverbench.growth import Growth
from bench.driverbench.ratios import BARS, ratios
from bench.driverbench.turn import Turn, standings
from bench.gates import GateReport, evaluate
from bench.manifest import git_state, machine

#: The bars are set for file storage, which is what `nats bench` users measure.
JUDGED_STORAGE = "file"


@dataclass(frozen=True)
class Report:
    turns: Sequence[Turn]
    growth: Sequence[Growth]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    machine_before: Mapping[str, Any]

    @property
    def judged(self) -> GateReport:
        return evaluate(BARS, ratios(self.turns, JUDGED_STORAGE))

    def as_dict(self) -> dict[str, Any]:
        storages = list(dict.fromkeys(turn.storage for turn in self.turns))
        return {
            **ratios(self.turns, JUDGED_STORAGE),
            "judged_storage": JUDGED_STORAGE,
            "bars": self.judged.as_dict(),
            "ratios_by_storage": {storage: ratios(self.turns, storage) for storage in storages},
            "settings": dict(self.settings),
            "machine": {**self.machine_before, "load_average_1m_after": machine()["load_average_1m"]},
            "versions": {**self.versions, "nats-py": importlib.metadata.version("nats-py")},
            "git": git_state(),
            "standings": [asdict(standing) for standing in standings(self.turns)],
            "turns": [asdict(turn) for turn in self.turns],
            "growth": [asdict(row) for row in self.growth],
        }

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(orjson.dumps(self.as_dict(), option=orjson.OPT_INDENT_2) + b"\n")
        partial.replace(path)  # a reader never finds half a report
