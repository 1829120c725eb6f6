"""The ledger: every workflow ends once, every TaskRun is there, every timer fires once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.gates import Gate, GateReport, evaluate
from bench.statestore.load import Truth

Metrics = dict[str, float | int | None]

GATES: tuple[Gate, ...] = (
    Gate("workflows_lost", "==", 0, "every workflow that was started ends"),
    Gate("workflows_twice", "==", 0, "and ends once"),
    Gate("workflows_unknown", "==", 0, "and nobody else's does"),
    Gate("workflows_open", "==", 0, "the store agrees: none is left running"),
    Gate("workflows_that_differ", "==", 0, "each workflow's own count is that of its TaskRuns"),
    Gate("task_runs_missing", "==", 0, "every TaskRun is in the store"),
    Gate("task_runs_open", "==", 0, "and has ended, well or not"),
    Gate("task_runs_torn", "==", 0, "and its payload is the one that was sent"),
    Gate("messages_missing", "==", 0, "every message was worked on, once"),
    Gate("completes_missing", "==", 0, "a completion took effect, or came after its time-out"),
    Gate("stray", "==", 0, "no message met a workflow or task that was not there"),
    Gate("timers_missing", "==", 0, "a timer was set for every task"),
    Gate("timers_wrong", "==", 0, "for that very task"),
    Gate("timers_lost", "==", 0, "a timer that was set has fired or is still in the store"),
    Gate("timers_twice", "==", 0, "and fired once: the sums over the tasks agree"),
    Gate("time_outs_missing", "==", 0, "every task that hung was found by its timer"),
    Gate("time_outs_twice", "==", 0, "and once"),
    Gate("time_outs_differ", "==", 0, "as many were told as are marked failed in the store"),
    Gate("grown_missing", "==", 0, "what the store was grown with is still there"),
)


def account(truth: Truth, endings: Sequence[Mapping[str, Any]], audit: Mapping[str, Any]) -> Metrics:
    """`endings` as read from the stream; `audit` as the server found its store."""
    ended = Counter(one["of"] for one in endings if one["kind"] == "ended")
    timed_out = Counter(one["of"] for one in endings if one["kind"] == "timed-out")
    totals = {name: sum(part[name] for part in audit["totals"]) for name in _TOTALS}
    kinds = {(row["kind"], row["letter"]): row for row in audit["kinds"]}

    def count(kind: str, letter: str | None = None) -> int:
        return int(kinds.get((kind, letter), {"count": 0})["count"])

    runs = sum(count("taskrun", letter) for letter in "SCF")
    pending = count("t")
    pending_print = int(kinds.get(("t", None), {"print": 0})["print"])
    return {
        "workflows": len(truth.workflows),
        "workflows_lost": len(truth.workflows - ended.keys()),
        "workflows_twice": sum(times - 1 for times in ended.values()),
        "workflows_unknown": len(ended.keys() - truth.workflows),
        "workflows_open": count("workflow", "R"),
        "workflows_that_differ": int(audit["workflows_that_differ"]),
        "task_runs": runs,
        "task_runs_missing": truth.task_runs + truth.grown - runs,
        "task_runs_open": count("taskrun", "S"),
        "task_runs_torn": sum(int(row["torn"]) for row in audit["kinds"]),
        "messages_missing": truth.messages - totals["messages"],
        "completes_missing": truth.completes - totals["completes"] - totals["late"],
        "completes_late": totals["late"],
        "stray": totals["stray"],
        "timers": totals["timers_set"],
        "timers_missing": truth.task_runs - totals["timers_set"],
        "timers_wrong": abs(truth.prints - totals["set_print"]),
        "timers_lost": totals["timers_set"] - totals["timers_fired"] - pending,
        "timers_twice": abs(totals["set_print"] - totals["fired_print"] - pending_print),
        "timers_pending": pending,
        "time_outs": len(timed_out),
        "time_outs_missing": len(truth.stuck - timed_out.keys()),
        "time_outs_twice": sum(times - 1 for times in timed_out.values()),
        "time_outs_differ": abs(count("taskrun", "F") - sum(timed_out.values())),
        "grown_missing": truth.grown - totals["grown"],
        "stored_bytes": sum(int(row["bytes"]) for row in audit["kinds"]),
    }


_TOTALS = (
    *("messages", "completes", "late", "stray", "timers_set", "timers_fired"),
    *("set_print", "fired_print", "grown"),
)


def judge(metrics: Metrics) -> GateReport:
    return evaluate(GATES, metrics)
