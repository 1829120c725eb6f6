"""How FAIL and INVALID are told."""

from __future__ import annotations

import pickle

import pytest

from bench.verdict import RunFailed, RunInvalid, Verdict, Violation

LAG = Violation("lag_max", 61_000, "<=", 50_000, "lag is bounded")
SUM = Violation("lost", 0.30000000000000004, "==", 0.3, "nothing is lost")


def test_a_violation_is_one_line_with_all_numbers() -> None:
    """If this fails, a red CI run does not say by how much, or rounds a violation into equality."""
    assert str(LAG) == "lag_max: observed 61000, wanted <= 50000 (lag is bounded)"
    assert str(SUM) == "lost: observed 0.30000000000000004, wanted == 0.3 (nothing is lost)"


def test_failed_lists_every_violation() -> None:
    """If this fails, only the first violation of a run is seen, and the next run finds the second."""
    assert str(RunFailed([LAG, SUM])).splitlines() == ["FAIL", f"  {LAG}", f"  {SUM}"]


def test_invalid_lists_every_reason_and_what_else_was_violated() -> None:
    """If this fails, an INVALID run hides part of why, or hides violations behind its invalidity."""
    lines = str(RunInvalid(["producer slipped", "no sample"], [LAG])).splitlines()
    assert lines[:3] == ["INVALID", "  producer slipped", "  no sample"]
    assert lines[-1] == f"  {LAG}"
    assert str(RunInvalid(["no sample"])).splitlines() == ["INVALID", "  no sample"]


def test_invalid_is_not_an_assertion() -> None:
    """If this fails, pytest reports a run that could not be measured as a pipeline that failed."""
    assert issubclass(RunFailed, AssertionError)
    assert not issubclass(RunInvalid, AssertionError)


@pytest.mark.parametrize("error", [RunFailed([LAG]), RunInvalid(["no sample"], [SUM])])
def test_exceptions_survive_pickling(error: Exception) -> None:
    """If this fails, a verdict raised in another process arrives as a TypeError without its violations."""
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("kind", [RunFailed, RunInvalid])
def test_no_verdict_without_a_reason(kind: type[RunFailed] | type[RunInvalid]) -> None:
    """If this fails, a run can turn red without saying why."""
    with pytest.raises(ValueError, match="without a"):
        kind([])


def test_verdicts_print_as_words() -> None:
    """If this fails, reports show Verdict.PASS instead of PASS."""
    assert [f"{one}" for one in Verdict] == ["PASS", "FAIL", "INVALID"]
