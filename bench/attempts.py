"""A run that could not be measured says nothing: it may be repeated, and every attempt stays on record."""

from __future__ import annotations

from collections.abc import Callable

from bench.outcome import Outcome
from bench.verdict import Verdict


def attempt_id(run_id: str, attempt: int) -> str:
    """The run id of the nth attempt; the first keeps the name as it was given."""
    return run_id if attempt == 1 else f"{run_id}-try{attempt}"


def run_until_measured(run_once: Callable[[int], Outcome], retries: int) -> Outcome:
    """Repeat INVALID, and only INVALID: a FAIL that is tried until it passes would be a lie."""
    outcome = run_once(1)
    for attempt in range(2, retries + 2):
        if outcome.verdict is not Verdict.INVALID:
            break
        outcome = run_once(attempt)
    return outcome
