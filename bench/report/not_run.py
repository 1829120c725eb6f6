"""A row of the matrix that was not run, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NotRun:
    case: str
    variant: str | None
    reason: str

    @property
    def name(self) -> str:
        return f"{self.case}-{self.variant}" if self.variant else self.case
