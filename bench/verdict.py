"""The three outcomes of a run, and how each is told to a person.

FAIL means the pipeline was measured and found wanting. INVALID means the harness could not measure: never a
pass, never a number in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    INVALID = "INVALID"


@dataclass(frozen=True)
class Violation:
    """A metric that is not where it was wanted."""

    metric: str
    observed: float | int
    comparison: str
    bound: float | int
    why: str

    def __str__(self) -> str:
        # All digits: rounded, a value just past its bound would look equal to it.
        return (
            f"{self.metric}: observed {self.observed!r}, wanted {self.comparison} {self.bound!r} ({self.why})"
        )


class RunFailed(AssertionError):  # noqa: N818  # reads as a verdict, not as an error of the harness
    """The run was measured and violates its gates."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        if not violations:
            raise ValueError("a run cannot fail without a violation")
        super().__init__(tuple(violations))  # the arguments themselves, so that the exception pickles
        self.violations = tuple(violations)

    def __str__(self) -> str:
        return "\n".join(["FAIL", *(f"  {violation}" for violation in self.violations)])


class RunInvalid(Exception):  # noqa: N818  # as above
    """The run could not be measured. Not an AssertionError: nothing is proven about the pipeline."""

    def __init__(self, reasons: Sequence[str], violations: Sequence[Violation] = ()) -> None:
        if not reasons:
            raise ValueError("a run cannot be invalid without a reason")
        super().__init__(tuple(reasons), tuple(violations))
        self.reasons = tuple(reasons)
        self.violations = tuple(violations)

    def __str__(self) -> str:
        lines = ["INVALID", *(f"  {reason}" for reason in self.reasons)]
        if self.violations:
            lines += ["also violated, as far as it was measured:", *(f"  {one}" for one in self.violations)]
        return "\n".join(lines)
