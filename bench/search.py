"""How much is sustainable: bracket and bisect with short trials, then one full run that must pass every gate.

Goals: never a number without its confirmation; what broke the next step is told. Non-goals: the exact limit
(the last few per cent are noise), and hiding that the harness itself ran out of breath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from bench.verdict import Verdict

Length = Literal["trial", "full"]


class Tried(Protocol):
    """What a run came to, as far as a search is concerned."""

    @property
    def verdict(self) -> Verdict: ...

    @property
    def run_id(self) -> str: ...


OutcomeT = TypeVar("OutcomeT", bound=Tried)
#: Runs the case at a rate: short, or as long as the profile says.
RunAt = Callable[[int, Length], OutcomeT]
Why = Callable[[OutcomeT], str]

#: Sustained and broken rate are this close in the end, as a share.
PRECISION = 0.08
#: After a confirmation that failed, the next is tried this much lower.
STEP_DOWN = 0.9
MOST_TRIALS = 24
MOST_CONFIRMATIONS = 4
LOWEST = 10


@dataclass(frozen=True)
class Step:
    rate_per_s: int
    length: Length
    verdict: str
    run_id: str
    why: str


@dataclass(frozen=True)
class Found:
    #: None where no full run passed: then there is no number.
    confirmed_per_s: int | None
    #: The lowest rate above it that did not hold; None where the highest rate allowed did.
    broke_at_per_s: int | None
    because: str
    steps: tuple[Step, ...]

    def told(self, case_name: str) -> str:
        broke = f"breaks at {self.broke_at_per_s:,} because {self.because}" if self.broke_at_per_s else ""
        if self.confirmed_per_s is None:
            return f"{case_name}: no rate was confirmed; {broke or self.because}"
        rest = broke or f"nothing broke it up to there: {self.because}"
        return f"{case_name} sustains {self.confirmed_per_s:,} events/s (confirmed), {rest}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Search(Generic[OutcomeT]):
    def __init__(
        self, run_at: RunAt[OutcomeT], why: Why[OutcomeT], start_per_s: int, highest_per_s: int
    ) -> None:
        self._run_at = run_at
        self._why = why
        self._highest = max(LOWEST, highest_per_s)
        self._start = min(max(LOWEST, start_per_s), self._highest)
        self._steps: list[Step] = []
        #: Why each rate broke, by rate.
        self._broken: dict[int, str] = {}

    def go(self) -> tuple[Found, OutcomeT]:
        """What was found, and the last full run: of the confirmed rate, or the one that failed."""
        # Where no trial held, the lowest rate is run in full: its gates say why, or prove the trials wrong.
        rate = self._bracket() or min(self._broken)
        for _ in range(MOST_CONFIRMATIONS):
            outcome = self._try(rate, "full")
            if outcome.verdict is Verdict.PASS:
                return self._found(rate), outcome
            lower = nice_rate(rate * STEP_DOWN)
            if not LOWEST <= lower < rate:
                break
            rate = lower
        return self._found(None), outcome

    def _bracket(self) -> int | None:
        """The highest rate that a trial held; None where none did."""
        held: int | None = None
        rate = self._start
        for _ in range(MOST_TRIALS):
            if self._try(rate, "trial").verdict is Verdict.PASS:
                held = rate
            broke = min(self._broken, default=None)
            following = self._next(held, broke)
            if following is None:
                break
            rate = following
        return held

    def _next(self, held: int | None, broke: int | None) -> int | None:
        """Double or halve until the limit lies between two rates, then halve what is between them."""
        if broke is None:
            return None if held is None or held >= self._highest else min(held * 2, self._highest)
        if held is None:
            return broke // 2 if broke // 2 >= LOWEST else None
        if broke <= held * (1 + PRECISION):
            return None
        between = nice_rate(math.sqrt(held * broke))
        return between if held < between < broke else None

    def _try(self, rate: int, length: Length) -> OutcomeT:
        outcome = self._run_at(rate, length)
        why = "" if outcome.verdict is Verdict.PASS else self._why(outcome)
        self._steps.append(Step(rate, length, outcome.verdict.value, outcome.run_id, why))
        if why:
            self._broken[rate] = why
        return outcome

    def _found(self, confirmed: int | None) -> Found:
        broken = [rate for rate in self._broken if confirmed is None or rate > confirmed]
        broke = min(broken, default=None)
        because = "it is the highest rate allowed" if broke is None else self._broken[broke]
        return Found(confirmed, broke, because, tuple(self._steps))


def nice_rate(rate: float) -> int:
    """Two digits that matter: nobody remembers 43,187."""
    if rate < 100:
        return round(rate)
    unit = int(10 ** (math.floor(math.log10(rate)) - 1))
    return round(rate / unit) * unit
