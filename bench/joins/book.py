"""What a session of the suite leaves: joins.html, .md, .svg, .json and .openmetrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.joins.openmetrics import joins_openmetrics
from bench.joins.outcome import JoinOutcome
from bench.joins.picture import picture
from bench.joins.published import CAVEAT
from bench.joins.scaling import Scale
from bench.joins.tables import (
    beside_table,
    cases_table,
    emission_table,
    found_table,
    rates_table,
    recovery_table,
    scales_table,
    ways_table,
)
from bench.joins.ways import Way
from bench.report.suite_page import Section, section_lines, suite_page, write_suite
from bench.search import Found

_TITLE = "Joins on Spark over JetStream"
_LIVE = "Latency counts from a fact's intended time to when its row was stored in JetStream."


@dataclass
class JoinBook:
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    outcomes: list[JoinOutcome] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    found: dict[str, Found] = field(default_factory=dict)
    ways: list[tuple[Way, JoinOutcome]] = field(default_factory=list)

    def empty(self) -> bool:
        return not (self.outcomes or self.ways)

    def note(self, outcome: JoinOutcome) -> JoinOutcome:
        """Kept, and on disk at once: the whole suite takes a while, and may be cut off."""
        self.outcomes.append(outcome)
        self.write()
        return outcome

    def note_way(self, way: Way, outcome: JoinOutcome) -> JoinOutcome:
        self.ways.append((way, outcome))
        self.write()
        return outcome

    def note_scales(self, scales: Sequence[Scale]) -> None:
        self.scales += scales
        self.write()

    def note_found(self, scenario: str, found: Found) -> None:
        self.found[scenario] = found
        self.write()

    def sections(self) -> list[Section]:
        return [
            ("Cases", _LIVE, cases_table(self.outcomes)),
            ("Hit rates", "Measured must be expected, to the last fact.", rates_table(self.outcomes)),
            ("Beside published figures", CAVEAT, beside_table(self.outcomes)),
            ("Emission", "Orders with payments and shipments.", emission_table(self.outcomes)),
            ("Sustainable throughput", "Confirmed by a full run.", found_table(self.found)),
            ("Cores", "The same backlog, Spark on so many.", scales_table(self.scales)),
            ("Recovery", "kill -9, then a restart from the checkpoint.", recovery_table(self.outcomes)),
            ("Ways", "The same backlog, joined in other ways.", ways_table(self.ways)),
        ]

    def lines(self) -> list[str]:
        return section_lines(self.sections())

    def write(self) -> Path:
        content = {
            "manifest": self.manifest,
            "cases": [one.as_dict() for one in self.outcomes],
            "scales": [asdict(one) for one in self.scales],
            "found": {name: one.as_dict() for name, one in self.found.items()},
            "ways": [{"way": way.name, "chosen": way.chosen, **one.as_dict()} for way, one in self.ways],
        }
        sections, drawing = self.sections(), picture(self.outcomes)
        page = suite_page(_TITLE, sections, drawing, "Second by second")
        written = write_suite(self.folder, "joins", content, sections, drawing, page)
        (self.folder / "joins.openmetrics").write_text(joins_openmetrics(self.outcomes))
        return written
