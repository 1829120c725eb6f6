"""How much a join sustains: bench.search over live cases; a rate counts when a full run confirms it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench.gates import Gate, evaluate
from bench.joins.case import JoinCase
from bench.joins.outcome import JoinOutcome
from bench.search import Found, Length, Search

#: A join that falls behind by more than this each second does not keep up.
MOST_SLOPE_MS_PER_S = 20.0
KEEPS_UP = Gate("delay_slope_ms_per_s", "<=", MOST_SLOPE_MS_PER_S, "rows come no later as time goes on")

#: The case at a rate, short or full.
CaseAt = Callable[[int, Length], JoinCase]
RunCase = Callable[[JoinCase], JoinOutcome]


def sustained(
    case_at: CaseAt, run: RunCase, start_per_s: int, highest_per_s: int
) -> tuple[Found, JoinOutcome]:
    def run_at(rate: int, length: Length) -> JoinOutcome:
        return keeping_up(run(case_at(rate, length)))

    return Search(run_at, why, start_per_s, highest_per_s).go()


def keeping_up(outcome: JoinOutcome) -> JoinOutcome:
    """Judged by whether it keeps up, too."""
    report = evaluate([*outcome.case.gates(), KEEPS_UP], outcome.metrics)
    return replace(outcome, report=report)


def why(outcome: JoinOutcome) -> str:
    report = outcome.report
    told = [*report.invalid_reasons, *map(str, report.violations)]
    return told[0] if told else report.verdict.value
