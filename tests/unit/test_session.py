"""How a session ends: everything that was run is in the report, and the exit code says what was found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import exit_codes
from bench.matrix import MatrixPlan, planned
from bench.session import Ending, Session, end
from bench.settings import RawOptions, check_options
from tests.unit.test_report_reading import write_run

SETTINGS = check_options(RawOptions())


def finished(reports: Path, **changes: Any) -> Path:
    """A run's folder with a manifest that can vouch for it, changed in `result.json`."""
    folder = write_run(reports, seconds=30)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"case_version": 1, "machine": {"cpu": "X", "cores": 2, "memory_bytes": 10**10}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    result = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps(result | changes))
    return folder


def test_a_session_without_runs_ends_in_silence(tmp_path: Path) -> None:
    """If this fails, `pytest tests/unit` leaves a report of nothing."""
    assert end(Session(tmp_path), [], tmp_path, interrupted=False) == Ending()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_cut_off_is_in_the_report(tmp_path: Path) -> None:
    """If this fails, Ctrl-C throws away what was measured before it."""
    cut = tmp_path / "B-cut"
    cut.mkdir()
    (cut / "manifest.json").write_text('{"case": "B-mock"}')
    plan = MatrixPlan([planned(case, case, "spark", SETTINGS) for case in "ABC"])
    for node_id in "AB":
        plan.start(node_id)
    folders = [finished(tmp_path), cut, tmp_path / "never-made"]
    ending = end(Session(tmp_path, folders, plan=plan), [], None, interrupted=True)
    assert ending.exit_code == 0
    summary = json.loads(next(tmp_path.glob("report-*/summary.json")).read_text())
    assert [(run["name"], run["verdict"]) for run in summary["runs"]] == [
        ("A", "PASS"),
        ("B-mock", "INVALID"),
    ]
    assert summary["not_run"] == [
        {"case": "C", "variant": "spark", "name": "C-spark", "reason": "interrupted before its turn"}
    ]
    assert any(line.startswith("report: ") for line in ending.lines)
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2


def test_only_a_matrix_is_remembered(tmp_path: Path) -> None:
    """If this fails, every trial with odd options is a point in the trend."""
    end(Session(tmp_path, [finished(tmp_path)], found=["A sustains 7 events/s"]), [], None, interrupted=False)
    assert not (tmp_path / "history.jsonl").exists()


def test_what_a_search_found_is_said(tmp_path: Path) -> None:
    """If this fails, the search's answer is in a file that nobody opens."""
    session = Session(tmp_path, [finished(tmp_path)], found=["A sustains 7 events/s (confirmed)"])
    assert "A sustains 7 events/s (confirmed)" in end(session, [], None, interrupted=False).lines


@pytest.mark.parametrize("baseline", ["nowhere", "reports"])
def test_no_baseline_has_its_own_code(tmp_path: Path, baseline: str) -> None:
    """If this fails, the first night is red, or a missing baseline passes for "no regression"."""
    session = Session(tmp_path / "reports", [finished(tmp_path / "reports")])
    ending = end(session, [], tmp_path / baseline, interrupted=False)
    assert ending.exit_code == exit_codes.NO_BASELINE
    assert any("no baseline" in line for line in ending.lines)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"ledger": {"expected": 10, "seen": 9, "lost": 1}}, exit_codes.REGRESSION),
        ({"verdict": "INVALID", "gates": {"invalid_reasons": ["slip"]}}, exit_codes.INVALID),
    ],
)
def test_the_comparison_decides_the_code(tmp_path: Path, changes: dict[str, Any], code: int) -> None:
    """If this fails, a regression passes or an unmeasured run is called one."""
    shutil.copytree(finished(tmp_path / "made"), tmp_path / "baseline" / "A-0")
    folder = finished(tmp_path / "reports", **changes)
    ending = end(Session(tmp_path / "reports", [folder]), [], tmp_path / "baseline", interrupted=False)
    assert ending.exit_code == code, ending.lines
    told = json.loads(next((tmp_path / "reports").glob("report-*/compare.json")).read_text())
    assert told["exit_code"] == code


def test_a_reports_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """If this fails, a full disk at the end hides the table of a whole night."""
    folder = finished(tmp_path / "reports")
    blocked = tmp_path / "file"
    blocked.write_text("")
    ending = end(Session(blocked, [folder]), [], None, interrupted=False)
    assert any(line.startswith("report: cannot be written") for line in ending.lines)
