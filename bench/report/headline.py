"""One sentence a run: what a person would say who looked at it."""

from __future__ import annotations

from collections.abc import Callable

from bench.report import numbers
from bench.report.run import GateRow, Run
from bench.verdict import Verdict

#: What goes in and what comes out, by case; an unknown case has messages.
_UNITS = {"A": ("events", "events"), "B": ("rows", "rows")}
_ENGINE_UNITS = ("events", "results")

_NAMED = 3
_LONGEST = 160

_SAID: dict[str, Callable[[float], str]] = {
    "lost": lambda value: f"{value:,.0f} lost",
    "duplicates": lambda value: f"{value:,.0f} duplicate",
    "unexpected": lambda value: f"{value:,.0f} unexpected",
    "wrong": lambda value: f"{value:,.0f} with wrong values",
    "late": lambda value: f"{value:,.0f} late",
    "rate_match": lambda value: f"output is {value:.1%} of input",
    "lag_max": lambda value: f"lag reaches {value:,.0f}",
    "latency_p99_ratio": lambda value: f"p99 grows {value:.1f}-fold",
    # Of the harness: what made a run no measurement.
    "producer_rate_share": lambda value: f"the producer reached {value:.1%} of its rate",
    "slip_ms_p99": lambda value: f"the producer was {numbers.milliseconds(value)} behind its schedule (p99)",
    "publishes_refused": lambda value: f"JetStream refused {value:,.0f} messages",
    "publishes_unanswered": lambda value: f"{value:,.0f} publishes were not answered",
    "driver_errors": lambda value: f"{value:,.0f} of the harness's threads failed",
    "engine_down": lambda value: f"the engine was found down {value:,.0f} times",
    "latency_samples": lambda _value: "nothing was measured",
}


def headline(run: Run) -> str:
    if run.verdict is Verdict.INVALID:
        return f"{run.name} {cause(run)}"
    if run.verdict is Verdict.FAIL:
        return f"{run.name} fails: {cause(run)}"
    if run.details.get("faults"):
        return f"{run.name} recovers: {_recovery(run)}"
    told = [_rates(run), _p99(run), _losses(run)]
    return f"{run.name} keeps up: {', '.join(part for part in told if part)}"


def _recovery(run: Run) -> str:
    """Of a run with faults: its rates and percentiles are those of the fault, not of the pipeline."""
    outage, back = run.metrics.get("outage_ms_max"), run.metrics.get("lag_back_ms_max")
    parts = [
        f"{run.metrics.get('faults_done', 0):,.0f} faults",
        f"outage up to {numbers.milliseconds(outage)}",
        f"lag back after at most {numbers.milliseconds(back)}",
        _losses(run),
    ]
    return ", ".join(part for part in parts if part)


def cause(run: Run) -> str:
    """Why a run did not pass."""
    if run.verdict is Verdict.INVALID:
        return f"could not be measured: {_invalid(run)}"
    return _listed([_violation(gate, run) for gate in run.violated])


def _invalid(run: Run) -> str:
    """In words where a validity gate is violated; what has no gate (a dead thread's error) as it was said."""
    gates = [gate for gate in run.gates if gate.status == "violated" and gate.kind == "validity"]
    spoken = {gate.metric for gate in gates}
    rest = [reason for reason in run.invalid_reasons if reason.partition(":")[0] not in spoken]
    return _listed([*(_violation(gate, run) for gate in gates), *rest])


def _listed(told: list[str]) -> str:
    """The first line of each of the first few, no longer than a sentence can bear."""
    if not told:
        return "no reason was given"
    short = [_shortened(one) for one in told[:_NAMED]]
    more = f", and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return ", ".join(short) + more


def _shortened(words: str) -> str:
    first = (words.splitlines() or [""])[0]
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"


def _rates(run: Run) -> str:
    sent, came = run.metrics.get("producer_rate_per_s"), run.metrics.get("output_rate_per_s")
    if sent is None or came is None:
        return ""
    unit_in, unit_out = _UNITS.get(run.case, _ENGINE_UNITS)
    out = "" if unit_out == unit_in else f" {unit_out}/s"
    return f"{numbers.count(round(sent))} {unit_in}/s in, {numbers.count(round(came))}{out} out"


def _p99(run: Run) -> str:
    p99_us = run.latency_us.get("p99")
    return "" if p99_us is None else f"p99 {numbers.microseconds(p99_us)}"


def _losses(run: Run) -> str:
    """Only what the ledger says; without one nothing is claimed."""
    if run.ledger is None or "lost" not in run.ledger.counts:
        return ""
    lost = run.ledger.counts["lost"]
    return "nothing lost" if lost == 0 else f"{lost:,.0f} lost"


def _violation(gate: GateRow, run: Run) -> str:
    slope = run.metrics.get("lag_slope_per_s")
    if gate.metric == "lag_slope_share" and slope is not None:
        return f"lag grows by {numbers.rate(slope)}"
    if gate.observed is not None and gate.metric in _SAID:
        bound = f" (bound {gate.bound:,.0f})" if gate.metric == "lag_max" and gate.bound is not None else ""
        return _SAID[gate.metric](gate.observed) + bound
    observed, bound = numbers.beside(gate.metric, gate.observed, gate.bound)
    return f"{gate.metric} is {observed}, wanted {gate.comparison} {bound}"
