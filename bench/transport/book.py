"""What a session of the transport suite leaves: every outcome as JSON, and the tables as Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.transport.faults import FaultOutcome
from bench.transport.outcome import CellOutcome
from bench.transport.soak import SoakResult
from bench.transport.tables import cells_table, faults_table, peers_table

#: Where a reader of the figures must see it.
DURABILITY = (
    "JetStream acknowledges before it fsyncs (sync_interval: {interval}; the server's default is every two "
    "minutes): a machine that loses its power can lose acknowledged messages, on every replica that does too."
)


@dataclass
class TransportBook:
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    cells: list[CellOutcome] = field(default_factory=list)
    faults: list[FaultOutcome] = field(default_factory=list)
    soaks: list[SoakResult] = field(default_factory=list)

    def empty(self) -> bool:
        return not (self.cells or self.faults or self.soaks)

    def note(self, outcome: CellOutcome | FaultOutcome | SoakResult) -> None:
        """Kept, and on disk at once: the whole product takes hours, and may be cut off."""
        if isinstance(outcome, CellOutcome):
            self.cells.append(outcome)
        elif isinstance(outcome, FaultOutcome):
            self.faults.append(outcome)
        else:
            self.soaks.append(outcome)
        self.write()

    def lines(self) -> list[str]:
        lines: list[str] = []
        for table in (cells_table(self.cells), peers_table(self.cells), faults_table(self.faults)):
            if len(table) > 2:
                lines += [*table, ""]
        for soak in self.soaks:
            p99 = soak.metrics["p99_ms_first_quarter"]
            lines += [
                f"soak {soak.duration_s:,.0f} s: {soak.report.verdict.value}, "
                f"p99 of the first quarter {p99} ms: {soak.folder}",
                "",
            ]
        intervals = {one.sync_interval for one in self.cells} | {one.sync_interval for one in self.faults}
        return lines + [DURABILITY.format(interval=interval) for interval in sorted(intervals)]

    def write(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {
            "manifest": self.manifest,
            "cells": [one.as_dict() for one in self.cells],
            "faults": [one.as_dict() for one in self.faults],
            "soaks": [one.as_dict() for one in self.soaks],
        }
        (self.folder / "transport.json").write_text(json.dumps(content, indent=1) + "\n")
        path = self.folder / "transport.md"
        path.write_text("\n".join(self.lines()) + "\n")
        return path
