"""A fault as the user writes it: TARGET:KIND[@TIME][/DURATION], like engine:kill@12s, tidb:pause@5/800ms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Target = Literal["nats", "nats-leader", "tidb", "engine", "writer", "producer", "sink"]
Kind = Literal["kill", "pause", "cut", "slow", "disk-full"]

TARGETS: tuple[Target, ...] = get_args(Target)
KINDS: tuple[Kind, ...] = get_args(Kind)
FORM = "TARGET:KIND[@TIME][/DURATION]"
DEFAULT_DURATION_S = 3.0
MIN_DURATION_S = 0.05
MAX_DURATION_S = 3600.0
MAX_TIME_S = 7 * 24 * 3600.0

_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m)?")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0}


class FaultError(ValueError):
    """What is wrong with a fault, in one line; the caller adds the option's name and value."""


@dataclass(frozen=True)
class Fault:
    target: Target
    kind: Kind
    #: Seconds after the first event; None: where the run has most time to recover.
    at_s: float | None = None
    duration_s: float = DEFAULT_DURATION_S

    @property
    def name(self) -> str:
        return f"{self.target}:{self.kind}"

    def __str__(self) -> str:
        at = "" if self.at_s is None else f"@{self.at_s:.10g}s"
        return f"{self.name}{at}/{self.duration_s:.10g}s"


def parse_fault(text: str) -> Fault:
    """FaultError in one line if it is no fault."""
    words, slash, duration = text.partition("/")
    words, at_sign, at = words.partition("@")
    target, colon, kind = words.partition(":")
    if not colon:
        raise FaultError(f"wanted {FORM}")
    if target not in TARGETS:
        raise FaultError(f"the target is one of {', '.join(TARGETS)}")
    if kind not in KINDS:
        raise FaultError(f"the kind is one of {', '.join(KINDS)}")
    return Fault(
        target,
        kind,
        _seconds("TIME", at, 0.0, MAX_TIME_S) if at_sign else None,
        _seconds("DURATION", duration, MIN_DURATION_S, MAX_DURATION_S) if slash else DEFAULT_DURATION_S,
    )


def _seconds(what: str, text: str, low: float, high: float) -> float:
    found = _TIME.fullmatch(text)
    if found is None:
        raise FaultError(f"{what} reads like 800ms, 4.5s or 2m; a bare number is seconds")
    # Three places are all that can be written: what lies beyond is the arithmetic's.
    value = round(float(found[1]) * _UNIT_S[found[2] or "s"], 6)
    if not low <= value <= high:
        raise FaultError(f"{what} must be {low:g} s to {high:g} s")
    return value
