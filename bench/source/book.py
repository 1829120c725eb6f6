"""What a session of the suite leaves: source.json, source.md, source.svg and source.html."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.gates import GateReport
from bench.report.markup import Html
from bench.report.suite_page import Section, section_lines, suite_page, write_suite
from bench.source.breakdown import Stage, stages
from bench.source.growth import Growth
from bench.source.outcome import SourceOutcome
from bench.source.picture import Bar, picture
from bench.source.sweep import Point
from bench.source.tables import cases_table, front_table, growth_table, stages_table

_TITLE = "What is left of an engine behind its source"
_CASES = (
    "Efficiency is the rate through the source over the slower of the bare reader and the engine over files. "
    "Events were counted and summed by the engine and compared with the closed form."
)
_STAGES = "Spark, filter and aggregate, the turn of median speed with the most events."
_FRONT = "Cells that no other beats in both speed and time held in the source, and the default."
_GROWTH = "Spark through its source, filter."


@dataclass
class SourceBook:
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    outcomes: list[SourceOutcome] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    sweep: GateReport | None = None
    growth: list[Growth] = field(default_factory=list)
    #: Engine and reason.
    not_run: list[tuple[str, str]] = field(default_factory=list)

    def empty(self) -> bool:
        return not (self.outcomes or self.points or self.growth)

    def note(self, outcome: SourceOutcome) -> None:
        self.outcomes.append(outcome)
        self.write()

    def stages(self) -> list[Stage]:
        """None unless both pipelines of Spark were measured with as many events."""
        ours = {(one.pipeline, one.events): one for one in self.outcomes if one.engine == "spark"}
        both = [events for pipeline, events in ours if pipeline == "filter" and ("aggregate", events) in ours]
        if not both:
            return []
        most = max(both)
        return stages(ours["filter", most].through_source, ours["aggregate", most].through_source)

    def sections(self) -> list[Section]:
        return [
            ("What is left", _CASES, cases_table(self.outcomes, self.not_run)),
            ("Where the time goes", _STAGES, stages_table(self.stages())),
            ("The front", _FRONT, front_table(self.points)),
            ("How the cost grows", _GROWTH, growth_table(self.growth)),
        ]

    def drawing(self) -> Html | None:
        return picture(self.points, self._beside()) if self.points else None

    def lines(self) -> list[str]:
        return section_lines(self.sections())

    def write(self) -> Path:
        content = {
            "manifest": self.manifest,
            "cases": [one.as_dict() for one in self.outcomes],
            "not_run": [{"engine": engine, "reason": reason} for engine, reason in self.not_run],
            "sweep": {
                "points": [point.as_dict() for point in self.points],
                "report": self.sweep.as_dict() if self.sweep else None,
            },
            "stages": [asdict(stage) for stage in self.stages()],
            "growth": [asdict(row) for row in self.growth],
        }
        sections, drawing = self.sections(), self.drawing()
        page = suite_page(_TITLE, sections, drawing, "The sweep")
        return write_suite(self.folder, "source", content, sections, drawing, page)

    def _beside(self) -> list[Bar]:
        ours = [one for one in self.outcomes if (one.engine, one.pipeline) == ("spark", "filter")]
        if not ours:
            return []
        metrics = max(ours, key=lambda one: one.events).metrics
        named = (("over files", metrics["file_per_s"]), ("the bare reader", metrics["raw_per_s"]))
        return [(name, rate) for name, rate in named if rate is not None]
