"""What a session of the suite leaves: statestore.json, statestore.md, statestore.svg and statestore.html."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report.markup import Html
from bench.report.suite_page import Section, section_lines, suite_page, write_suite
from bench.statestore.load import Truth
from bench.statestore.outcome import ScenarioOutcome, outcome_of
from bench.statestore.picture import picture
from bench.statestore.restore import Restore
from bench.statestore.server_process import AUDIT
from bench.statestore.tables import (
    disk_table,
    latency_table,
    ledger_table,
    restore_table,
    speed_table,
    tuning_table,
)
from bench.statestore.tuning import Tuned

_TITLE = "One partition, one big store"
_SPEED = (
    "From a backlog, at full speed. Written is what the engine puts into the store, keys and values; a pause "
    "is the longest time between the ends of two micro-batches."
)
_LATENCY = "By a schedule, at a part of that speed; latencies count from the intended time of a message."
_DISK = "Compacted is every key and value that is in the store at the end, once."
_LEDGER = "Lost or twice is the sum of everything that the ledger counts as wrong."
_RESTORE = (
    "The same query started again on its checkpoint, in the same JVM. Restore is what its first micro-batch "
    "took beyond those that followed; the median over restarts."
)
_TUNING = "The same load, one setting changed."


@dataclass
class StateStoreBook:
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    outcomes: list[ScenarioOutcome] = field(default_factory=list)
    restores: list[Restore] = field(default_factory=list)
    tuned: list[Tuned] = field(default_factory=list)

    def empty(self) -> bool:
        return not (self.outcomes or self.restores or self.tuned)

    def note(self, outcome: ScenarioOutcome) -> None:
        self.outcomes.append(outcome)
        self.write()

    def of_home(
        self, name: str, home: Path, truth: Truth, endings: Sequence[Mapping[str, Any]]
    ) -> ScenarioOutcome:
        """Of a server that ran as a user's command."""
        audit = json.loads((home / AUDIT).read_text())
        lines = (home / "launches.jsonl").read_text().splitlines()
        outcome = outcome_of(name, home, truth, endings, audit, json.loads(lines[-1]), {})
        self.note(outcome)
        return outcome

    def sections(self) -> list[Section]:
        return [
            ("Full speed", _SPEED, speed_table(self.outcomes)),
            ("Latency", _LATENCY, latency_table(self.outcomes)),
            ("On disk", _DISK, disk_table(self.outcomes)),
            ("Ledger", _LEDGER, ledger_table(self.outcomes)),
            ("Restore", _RESTORE, restore_table(self.restores)),
            ("Settings", _TUNING, tuning_table(self.tuned)),
        ]

    def drawing(self) -> Html | None:
        drawn = self.restores or any(one.series for one in self.outcomes)
        return picture(self.outcomes, self.restores) if drawn else None

    def lines(self) -> list[str]:
        return section_lines(self.sections())

    def write(self) -> Path:
        content = {
            "manifest": self.manifest,
            "scenarios": [one.as_dict() for one in self.outcomes],
            "restores": [one.as_dict() for one in self.restores],
            "settings": [one.as_dict() for one in self.tuned],
        }
        sections, drawing = self.sections(), self.drawing()
        page = suite_page(_TITLE, sections, drawing, "Over time")
        return write_suite(self.folder, "statestore", content, sections, drawing, page)
