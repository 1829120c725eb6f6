"""Something done to a run from outside, at a given moment: a fault, or a sabotage that a gate must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Moment = float | Literal["drained"]


@dataclass(frozen=True)
class Intervention:
    #: Seconds after the first event, or "drained": all has come out and nothing has been checked yet.
    at: Moment
    act: Callable[[], object]


class Interventions:
    """Fires each once, when its time has come."""

    def __init__(self, planned: Sequence[Intervention]) -> None:
        self._waiting = sorted((i for i in planned if i.at != "drained"), key=lambda i: float(i.at))
        self._at_drained = [i for i in planned if i.at == "drained"]

    def fire_due(self, elapsed_s: float) -> None:
        while self._waiting and float(self._waiting[0].at) <= elapsed_s:
            self._waiting.pop(0).act()

    @property
    def overdue(self) -> list[float]:
        """Moments that never came: the run was over before. A sabotage that did not happen proves nothing."""
        return [float(intervention.at) for intervention in self._waiting]

    def fire_drained(self) -> None:
        for intervention in self._at_drained:
            intervention.act()
