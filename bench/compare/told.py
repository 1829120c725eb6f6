"""A comparison for people (terminal, Markdown) and for programs (JSON)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson

from bench.compare.change import Change
from bench.compare.comparison import CaseComparison, Comparison
from bench.report import numbers
from bench.report.markdown import escaped

COMPARISON_VERSION = 1

_HEADINGS = ("metric", "base", "new", "change", "95 % interval", "p", "needed", "verdict")
_WORDS = {"worse": "WORSE", "better": "better", "same": "no change", "unknown": "too few samples"}


def comparison_lines(comparison: Comparison) -> list[str]:
    """For a terminal."""
    lines: list[str] = []
    for case in comparison.cases:
        lines += ["", f"{case.name}: {case.finding}"]
        lines += [f"  {reason}" for reason in case.reasons]
        lines += [f"  note: {flag}" for flag in case.flags]
        if case.changes:
            lines += [f"  {line}" for line in _aligned([_HEADINGS, *map(_row, case.changes)])]
            lines.append(f"  {_counted(case)}")
    return lines[1:] or ["nothing to compare"]


def comparison_markdown(comparison: Comparison) -> str:
    lines = ["# jetlag: comparison", ""]
    for case in comparison.cases:
        lines += [f"## {escaped(case.name)}: {case.finding}", ""]
        lines += [f"- {escaped(reason)}" for reason in case.reasons]
        lines += [f"- note: {escaped(flag)}" for flag in case.flags]
        if case.changes:
            rows = [_HEADINGS, ["---", *["---:"] * 6, "---"], *map(_row, case.changes)]
            lines += ["", *(f"| {' | '.join(row)} |" for row in rows), "", _counted(case)]
        lines.append("")
    return "\n".join(lines)


def comparison_json(comparison: Comparison) -> bytes:
    content = {
        "comparison_version": COMPARISON_VERSION,
        "exit_code": comparison.exit_code,
        "cases": [_case(case) for case in comparison.cases],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _case(case: CaseComparison) -> dict[str, Any]:
    return {
        **{name: value for name, value in asdict(case).items() if name != "changes"},
        "changes": [{**asdict(change), "metric": change.metric.name} for change in case.changes],
    }


def _row(change: Change) -> tuple[str, ...]:
    name = change.metric.name
    return (
        name,
        numbers.metric(name, change.base),
        numbers.metric(name, change.new),
        share(change.change_share),
        f"{share(change.low_share)} to {share(change.high_share)}",
        numbers.NOTHING if change.p is None else f"{change.p:.2g}",
        _needed(change),
        _WORDS[change.word],
    )


def _needed(change: Change) -> str:
    """Both bars that a change has to clear."""
    bar = f"{change.threshold_share:.0%}"
    return f"{bar} and {numbers.metric(change.metric.name, change.threshold)}" if change.threshold else bar


def share(value: float | None) -> str:
    """+12.3 %, with a sign: the direction is half of what it says."""
    if value is None:
        return numbers.NOTHING
    if math.isinf(value):
        return "from 0"
    return f"{'+' if value >= 0 else '−'}{abs(value):.1%}"


def _counted(case: CaseComparison) -> str:
    """What the figures rest on: a reader must know whether runs or seconds were counted."""
    if any(change.unit == "run" for change in case.changes):
        return f"counted: {len(case.base_ids)} runs of the base, {len(case.new_ids)} new"
    seen = next(change.counted for change in case.changes)
    return (
        f"counted: stretches within runs ({seen[0]} and {seen[1]} of the first metric). What differs from "
        "run to run by chance is not in the interval: 5 runs a side (--interleave 5) would know it"
    )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if column in (0, last) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
