"""Gates are values; judging a run is a pure function of its gates and its metrics.

Goals: no gate passes because nothing was measured, and every violation is listed, not only the first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from bench.verdict import RunFailed, RunInvalid, Verdict, Violation

Comparison = Literal["<=", ">=", "=="]
Kind = Literal["gate", "validity"]
Status = Literal["passed", "violated", "missing"]

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Gate:
    """`metric comparison bound`, e.g. lag_max <= 50000.

    A violated "validity" gate means that the harness fell short (producer slip, clock offset), not the
    pipeline.
    """

    metric: str
    comparison: Comparison
    bound: float
    why: str
    kind: Kind = "gate"

    def __post_init__(self) -> None:
        if self.comparison not in _COMPARE:
            raise ValueError(
                f"gate on {self.metric}: comparison {self.comparison!r} is none of {list(_COMPARE)}"
            )
        if self.kind not in get_args(Kind):
            raise ValueError(f"gate on {self.metric}: kind {self.kind!r} is none of {list(get_args(Kind))}")
        if not self.metric or not math.isfinite(self.bound):
            # <= inf would always hold and NaN never: neither is a bound
            raise ValueError(f"gate on {self.metric!r}, bound {self.bound}: wanted a name and a finite bound")


@dataclass(frozen=True)
class GateResult:
    gate: Gate
    observed: float | int | None
    status: Status

    @property
    def passed(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True)
class GateReport:
    verdict: Verdict
    results: tuple[GateResult, ...]
    violations: tuple[Violation, ...]  # of ordinary gates, also when the verdict is INVALID
    invalid_reasons: tuple[str, ...]

    def raise_unless_pass(self) -> None:
        if self.verdict is Verdict.INVALID:
            raise RunInvalid(self.invalid_reasons, self.violations)
        if self.verdict is Verdict.FAIL:
            raise RunFailed(self.violations)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "verdict": self.verdict.value,
            "results": [
                {**asdict(result.gate), "observed": result.observed, "status": result.status}
                for result in self.results
            ],
            "violations": [asdict(violation) for violation in self.violations],
            "invalid_reasons": list(self.invalid_reasons),
        }


def evaluate(gates: Sequence[Gate], metrics: Mapping[str, float | int | None]) -> GateReport:
    """INVALID before FAIL before PASS: what could not be measured cannot be judged."""
    results = tuple(_result(gate, metrics) for gate in gates)
    violations: list[Violation] = []
    reasons: list[str] = []
    if not any(gate.kind == "gate" for gate in gates):
        # validity gates alone say that the harness worked, and nothing about the pipeline
        reasons.append("no gate: nothing was asked of the pipeline, so nothing can pass")
    for result in results:
        gate = result.gate
        if result.observed is None:
            reasons.append(_missing(gate, metrics))
        elif result.status == "violated":
            violation = Violation(gate.metric, result.observed, gate.comparison, gate.bound, gate.why)
            if gate.kind == "validity":
                reasons.append(str(violation))
            else:
                violations.append(violation)
    verdict = Verdict.INVALID if reasons else Verdict.FAIL if violations else Verdict.PASS
    return GateReport(verdict, results, tuple(violations), tuple(reasons))


def _result(gate: Gate, metrics: Mapping[str, float | int | None]) -> GateResult:
    observed = _measured(gate.metric, metrics.get(gate.metric))
    if observed is None:
        return GateResult(gate, None, "missing")
    holds = _COMPARE[gate.comparison](observed, gate.bound)
    return GateResult(gate, observed, "passed" if holds else "violated")


def _measured(metric: str, value: object) -> float | int | None:
    """A plain int or float (numpy's are not JSON), or None for what is not a measurement.

    Infinity is none: it is a division by nothing measured, and would pass every ">=".
    """
    if value is None:
        return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    raise TypeError(f"metric {metric} is {value!r}, wanted a number")


def _missing(gate: Gate, metrics: Mapping[str, float | int | None]) -> str:
    found = f"is {metrics[gate.metric]}" if gate.metric in metrics else "is missing"
    return f"{gate.metric}: {found}, wanted {gate.comparison} {gate.bound!r} ({gate.why})"
