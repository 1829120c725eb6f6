"""Attempts: what could not be measured is repeated, what was measured is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench.attempts import attempt_id, run_until_measured
from bench.verdict import Verdict


@pytest.mark.parametrize(
    ("verdicts", "retries", "expected_runs"),
    [
        (["PASS"], 2, 1),
        (["FAIL", "PASS"], 2, 1),
        (["INVALID", "FAIL", "PASS"], 2, 2),
        (["INVALID", "INVALID", "PASS"], 2, 3),
        (["INVALID", "INVALID", "INVALID", "PASS"], 2, 3),
        (["INVALID", "PASS"], 0, 1),
    ],
)
def test_only_an_invalid_run_is_repeated(verdicts, retries, expected_runs):
    """A FAIL tried until it passes would be a lie, and endless attempts would hang a CI."""
    attempts = []

    def once(attempt):
        attempts.append(attempt)
        return SimpleNamespace(verdict=Verdict(verdicts[attempt - 1]))

    outcome = run_until_measured(once, retries)
    assert attempts == list(range(1, expected_runs + 1))
    assert outcome.verdict is Verdict(verdicts[expected_runs - 1])


def test_each_attempt_has_a_name_of_its_own():
    """The second attempt would be refused because the first one's rows are in the table."""
    assert [attempt_id("night", attempt) for attempt in (1, 2, 3)] == ["night", "night-try2", "night-try3"]
