"""Runs a case as the session's options ask: once, until it could be measured, or in search of its limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil

from bench.attempts import attempt_id, run_until_measured
from bench.case import Case
from bench.cases import resized
from bench.fault.faulted import FaultedRun, check_faults, faulted
from bench.fault.spec import Fault
from bench.intervention import Intervention
from bench.outcome import Outcome
from bench.pipeline import PipelineBuilder
from bench.progress import Progress
from bench.report.folder import read_run
from bench.report.headline import cause
from bench.run import BUILDERS, run_case
from bench.search import Length, Search
from bench.session import Session
from bench.settings import MAX_EVENTS, MAX_RATE, Settings, new_run_id
from bench.stack import Stack
from bench.verdict import Verdict
from bench.whole_file import write_whole

#: A trial of a search: long enough for the gates on trends, short enough to make many.
_TRIAL_WARMUP_S = 2
_TRIAL_MEASURE_S = 8
_TRIAL_WINDOWS = 4
#: Streams in memory may take this share of it.
_MEMORY_SHARE = 0.4

Note = Callable[[str, object], None]


@dataclass(frozen=True)
class Runner:
    """Called by a test with its case; returns the outcome unjudged."""

    settings: Settings
    session: Session
    progress: Progress
    #: Where a test's properties go (JUnit XML).
    note: Note
    search: bool = False

    def __call__(
        self,
        case: Case,
        stack: Stack,
        interventions: Sequence[Intervention] = (),
        builder: PipelineBuilder | None = None,
        reports_dir: Path | None = None,
        listed: bool = True,
        retries: int | None = None,
        faults: Sequence[Fault] | None = None,
    ) -> Outcome:
        """`listed`: it is in the closing table and the report; a spoiled run is not. `faults`: those of the
        options, if it is listed and none are given here."""
        planned = (self.settings.faults if listed else ()) if faults is None else faults
        if planned:
            check_faults(case, stack.provider, planned)
        name = (self.settings.run_id if listed else None) or new_run_id(case.name)
        folder = reports_dir or self.settings.reports_dir
        again = self.settings.retry_invalid if retries is None else retries

        def run(case: Case, run_id: str, listed: bool) -> Outcome:
            def once(attempt: int) -> Outcome:
                this = attempt_id(run_id, attempt)
                if listed:
                    self.session.folders.append(folder / this)
                with self._hurt(case, stack, builder, planned, this) as way:
                    return run_case(
                        way.case,
                        way.stack,
                        run_id=this,
                        reports_dir=folder,
                        progress=self.progress,
                        interventions=[*interventions, *way.interventions],
                        builder=way.builder,
                        settings={
                            "profile": self.settings.profile.name,
                            **({"faults": list(map(str, planned))} if planned else {}),
                        },
                    )

            return run_until_measured(once, again)

        searching = listed and self.search
        outcome = self._searched(case, name, run) if searching else run(case, name, listed)
        if listed:
            self._note_figures(outcome)
        return outcome

    def _hurt(
        self,
        case: Case,
        stack: Stack,
        builder: PipelineBuilder | None,
        faults: Sequence[Fault],
        run_id: str,
    ) -> AbstractContextManager[FaultedRun]:
        if not faults:
            return nullcontext(FaultedRun(case, stack, builder or BUILDERS[case.letter], ()))
        return faulted(case, stack, builder, faults, run_id, self.progress.say)

    def _searched(self, case: Case, name: str, run: Callable[[Case, str, bool], Outcome]) -> Outcome:
        steps = 0

        def run_at(rate_per_s: int, length: Length) -> Outcome:
            nonlocal steps
            steps += 1
            run_id = f"{name}-s{steps}"
            if length == "full":
                return run(resized(case, rate_per_s), run_id, True)
            warmup_s, measure_s = _trial_s(case)
            return run(resized(case, rate_per_s, warmup_s, measure_s), run_id, False)

        def why(outcome: Outcome) -> str:
            return cause(read_run(outcome.folder))

        search = Search(run_at, why, case.load.rate_per_s, _highest_rate(case))
        found, outcome = search.go()
        sentence = found.told(case.name)
        self.session.found.append(sentence)
        self.note("search", sentence)
        details = {"sentence": sentence, **found.as_dict()}
        write_whole(outcome.folder / "search.json", orjson.dumps(details, option=orjson.OPT_INDENT_2))
        return outcome

    def _note_figures(self, outcome: Outcome) -> None:
        """For JUnit XML: verdict and figures; those of an INVALID run are no measurement and stay out."""
        self.note("run_id", outcome.run_id)
        self.note("verdict", outcome.verdict.value)
        if outcome.verdict is Verdict.INVALID:
            return
        figures: dict[str, float | int | None] = {
            **{f"latency_ms_{name}": outcome.latency_ms(name) for name in ("p50", "p95", "p99", "max")},
            **outcome.metrics,
            **{
                f"{figure}_{component}": value
                for component, usage in outcome.resources.items()
                for figure, value in usage.items()
            },
        }
        for name, value in figures.items():
            if value is not None:
                self.note(name, value)


def _trial_s(case: Case) -> tuple[int, int]:
    if case.windows is None:
        return _TRIAL_WARMUP_S, _TRIAL_MEASURE_S
    window_s = case.windows.window_ms / 1000
    return math.ceil(window_s), math.ceil(_TRIAL_WINDOWS * window_s)


def _highest_rate(case: Case) -> int:
    """What the ledgers, and for streams in memory the machine, can hold of a full run."""
    load = case.load
    seconds = load.warmup_s + load.measure_s
    highest = min(MAX_RATE, MAX_EVENTS // seconds)
    if case.transport.storage == "memory":
        held = int(psutil.virtual_memory().total * _MEMORY_SHARE)
        highest = min(highest, held // (seconds * load.payload_bytes))
    return highest
