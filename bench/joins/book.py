"""What a session of the suite leaves: joins.json, joins.md, joins.openmetrics and joins.svg."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.joins.outcome import JoinOutcome
from bench.joins.tables import Table, cases_table
from bench.transport.tables import markdown


@dataclass
class JoinBook:
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    outcomes: list[JoinOutcome] = field(default_factory=list)

    def empty(self) -> bool:
        return not self.outcomes

    def note(self, outcome: JoinOutcome) -> JoinOutcome:
        """Kept, and on disk at once: the whole suite takes a while, and may be cut off."""
        self.outcomes.append(outcome)
        self.write()
        return outcome

    def sections(self) -> list[tuple[str, Table]]:
        return [("Cases", cases_table(self.outcomes))]

    def lines(self) -> list[str]:
        lines: list[str] = []
        for title, table in self.sections():
            if len(table) > 1:
                lines += [f"### {title}", "", *markdown(table), ""]
        return lines

    def write(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"manifest": self.manifest, "cases": [one.as_dict() for one in self.outcomes]}
        (self.folder / "joins.json").write_text(json.dumps(content, indent=1) + "\n")
        path = self.folder / "joins.md"
        path.write_text("\n".join(self.lines()) + "\n")
        return path
