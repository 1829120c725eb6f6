"""The matrix of faults: whole, and its daily part goes round."""

from __future__ import annotations

import pytest

from bench.case import Case
from bench.cases import case_a, case_b, case_c, case_d, case_e, case_f
from bench.fault.matrix import MATRIX, ORDINARY, todays
from bench.fault.support import TARGETS_OF, refusal
from bench.report.fault_tables import fault_lines, fault_markdown, fault_rows, faults_section
from bench.report.headline import headline
from bench.settings import RawOptions, check_options
from bench.verdict import Verdict
from tests.unit.made_runs import run

MAKE = {"A": case_a, "B": case_b, "C": case_c, "D": case_d, "E": case_e, "F": case_f}


def case_of(letter: str, storage: str, replicas: int) -> Case:
    settings = check_options(RawOptions(storage=storage, replicas=str(replicas)))
    return MAKE[letter](settings, "spark") if letter in "CDEF" else MAKE[letter](settings)


@pytest.mark.parametrize("cell", MATRIX, ids=[cell.name for cell in MATRIX])
def test_every_cell_can_be_done(cell, monkeypatch) -> None:
    """If this fails, a cell of the matrix is refused when its turn comes."""
    monkeypatch.setattr("bench.fault.support.may_mount", lambda: True)
    case = case_of(cell.letter, cell.storage, cell.replicas)
    assert [refusal(fault, case, "local") for fault in cell.faults()] == [None] * len(cell.kinds)


def test_every_target_of_every_case_suffers_every_ordinary_kind() -> None:
    """If this fails, a hole in the matrix looks like a fault that was survived."""
    there = {(cell.letter, cell.target) for cell in MATRIX if cell.kinds == ORDINARY}
    wanted = {(letter, target) for letter in "BCDEF" for target in TARGETS_OF[letter]}
    wanted -= {("B", "nats-leader")}  # of the ordinary kinds two are for links to clients
    assert there == wanted
    assert any(cell.target == "nats-leader" and cell.replicas == 3 for cell in MATRIX)
    assert any("disk-full" in cell.kinds for cell in MATRIX)
    assert any(cell.storage == "memory" for cell in MATRIX)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_daily_part_goes_round(count: int) -> None:
    """If this fails, CI runs the same cells every day and never sees the others."""
    seen = {cell for day in range(len(MATRIX)) for cell in todays(MATRIX, count, day)}
    assert seen == set(MATRIX)
    assert len(todays(MATRIX, count, 7)) == count


FAULTS = {
    "expectation": "no <b>loss</b>",
    "durability": {"storage": "file", "replicas": 1, "tidb": None},
    "ledger": {"lost": 0, "duplicates": 0, "late": 3, "wrong": 0, "unexpected": 0, "redelivered": 9},
    "cells": [
        {"fault": "tidb:kill", "at_s": 5.01, "lasted_s": 2.0, "outage_ms": 3456.7, "calm_silence_ms": 99.0,
         "first_output_ms": 812.0, "lag_back_ms": None, "lag_peak": 1800, "lag_band": 200},
    ],
}  # fmt: skip


def test_a_run_s_faults_are_in_every_format() -> None:
    """If this fails, recovery is measured and nobody can read it."""
    hurt = run(1, details={"faults": FAULTS}, metrics={"faults_done": 1, "outage_ms_max": 3456.7})
    page, markdown, lines = str(faults_section(hurt)), fault_markdown([hurt]), "\n".join(fault_lines([hurt]))
    for shown in (page, markdown, lines):
        for figure in ("tidb:kill", "3.46 s", "not back", "1,800", "storage file", "3 late"):
            assert figure in shown, figure
        assert "tidb None" not in shown
    assert "<b>" not in page
    assert headline(hurt).startswith("B-mock recovers: 1 faults, outage up to 3.46 s")


@pytest.mark.parametrize("told", [None, 7, [], {"cells": 3}, {"cells": [None, 4]}, {"cells": [{}]}])
def test_odd_faults_are_no_crash(told: object) -> None:
    """If this fails, one damaged result takes the report of the night with it."""
    odd = run(1, details={"faults": told})
    faults_section(odd), fault_markdown([odd]), fault_lines([odd])
    assert len(fault_rows(odd)) == (1 if told == {"cells": [{}]} else 0)


def test_an_invalid_run_has_no_figures_of_recovery() -> None:
    """If this fails, a fault that could not be measured has a figure in the table."""
    spoiled = run(1, details={"faults": FAULTS}, verdict=Verdict.INVALID)
    assert fault_lines([spoiled]) == []
    assert fault_markdown([spoiled]) == ""
    assert "3.46 s" not in str(faults_section(spoiled))
    assert "Expected before the run" in str(faults_section(spoiled))
