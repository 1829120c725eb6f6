"""Every name that crosses a process border: run ids, streams, subjects, durables, variants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

EVENTS: Final = "EVENTS"
RESULTS: Final = "RESULTS"
CTRL: Final = "CTRL"

#: `results.*` of the roadmap would never match results.<variant>.<p>: a star is one token.
STREAM_SUBJECTS: Final = {EVENTS: "events.*", RESULTS: "results.*.*", CTRL: "bench.*"}

HEARTBEAT_SUBJECT: Final = "bench.prod"

#: Sentinels that close an engine's last window carry this key; the ledger leaves them out by name.
FLUSH_KEY: Final = "__flush__"

VARIANTS: Final = ("mock", "spark", "arroyo", "rw", "bento")
CASES: Final = ("A", "B", "C", "D", "E", "F")

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,48}")


def check_run_id(run_id: str) -> str:
    """A run id stands in subjects, paths, SQL and HTML: only what is harmless in all of them."""
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError(f"run id {run_id!r}: use 1 to 48 letters, digits, '-' or '_'")
    return run_id


def check_variant(variant: str) -> str:
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}: one of {', '.join(VARIANTS)}")
    return variant


def events_subject(partition: int) -> str:
    return f"events.{partition}"


def results_subject(variant: str, partition: int) -> str:
    return f"results.{check_variant(variant)}.{partition}"


def results_filter(variant: str) -> str:
    return f"results.{check_variant(variant)}.*"


@dataclass(frozen=True)
class Durable:
    """A durable consumer: its name on the server, its stream, and what it subscribes to."""

    name: str
    stream: str
    filter_subject: str


def durable(case: str, role: str, variant: str | None = None) -> Durable:
    """The durable of a case's input ("events") or output ("results").

    In case E the output is Bento's to read; the suite looks on as "witness".

    JetStream forbids dots in consumer names, so the roadmap's `dur.C.events.spark`
    is spelled `dur_C_events_spark`.
    """
    if case not in CASES:
        raise ValueError(f"unknown case {case!r}: one of {', '.join(CASES)}")
    if case == "A" and role == "events":
        return Durable("dur_A_events", EVENTS, STREAM_SUBJECTS[EVENTS])
    if case == "B" and role == "results":
        return Durable("dur_B_results_mock", RESULTS, results_filter("mock"))
    if case in "CDEF" and variant is not None and variant != "mock":
        check_variant(variant)
        if role == "events":
            return Durable(f"dur_{case}_events_{variant}", EVENTS, STREAM_SUBJECTS[EVENTS])
        if role == "results" and case != "F":
            return Durable(f"dur_{case}_results_{variant}", RESULTS, results_filter(variant))
        if role == "witness" and case == "E":
            return Durable(f"dur_E_witness_{variant}", RESULTS, results_filter(variant))
    raise ValueError(f"case {case} has no durable for {role!r} with variant {variant!r}")
