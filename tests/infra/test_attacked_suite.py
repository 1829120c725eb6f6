"""The whole suite attacked as a process: two at once on one machine, and Ctrl-C at every phase of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench import exit_codes
from bench.fault.matrix import todays
from bench.profile import PROFILES
from tests.process_family import command_words, descendants

pytestmark = pytest.mark.infra

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
MEASURE_S = PROFILES["smoke"].measure_s


def suite(reports: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--infra=local", f"--reports-dir={reports}", *words],
        cwd=ROOT,
        env={**os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, f"the suite ended before {what}"
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.01)


def content(reports: Path, name: str) -> str:
    return "".join(path.read_text(errors="replace") for path in reports.glob(f"B-*/{name}"))


def measured_s(reports: Path) -> int:
    return content(reports, "metrics.jsonl").count('"phase":"measure"')


def has_services(process: subprocess.Popen[str]) -> bool:
    return any("nats-server" in " ".join(words) for words in command_words(descendants(process.pid)))


#: By phase: whether it has begun.
PHASES: dict[str, Callable[[Path, subprocess.Popen[str]], bool]] = {
    "services start": lambda _reports, process: has_services(process),
    "set-up": lambda reports, _process: any(reports.glob("B-*/manifest.json")),
    "warm-up": lambda reports, _process: "START" in content(reports, "run.log"),
    "measure": lambda reports, _process: measured_s(reports) > 0,
    # After the last measured second; it may be over before it has a sample of its own.
    "drain": lambda reports, _process: measured_s(reports) >= MEASURE_S,
    "report": lambda reports, _process: any(reports.glob("B-*/result.json")),
}


def pytest_generate_tests(metafunc):
    """All phases, or today's: each takes the start of two services."""
    if "phase" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all-faults")
        metafunc.parametrize("phase", list(PHASES) if everything else todays(list(PHASES), 1))
    elif "turn" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all-faults")
        metafunc.parametrize("turn", ["now"] if everything else todays([*["another day"] * 2, "now"], 1))


@pytest.mark.faults
def test_ctrl_c_at_any_phase_is_no_pass_and_leaves_nothing(tmp_path, phase):
    """A run that was cut off would count as one that passed, or leave servers behind."""
    process = suite(tmp_path, "-m", "caseB", "tests/cases/test_sink_baseline.py")
    seen: dict[int, psutil.Process] = {}
    try:
        wait_for(lambda: PHASES[phase](tmp_path, process), process, phase)
        seen = {child.pid: child for child in descendants(process.pid)}
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(list(seen.values()), timeout=30)
    assert seen, "no service was running, so nothing could have stayed"
    assert alive == []
    assert "Traceback (most recent call last)" not in said, said[-3000:]
    results = [json.loads(path.read_text()) for path in tmp_path.glob("B-*/result.json")]
    if phase in ("warm-up", "measure"):
        assert [result["verdict"] for result in results] == ["INVALID"]
    # The run itself was over before the signal in the last phases; the suite was not.
    assert process.returncode != 0 or [result["verdict"] for result in results] == ["PASS"]


@pytest.mark.faults
def test_two_suites_at_once_do_not_touch_each_other(tmp_path, turn):
    """Two CI jobs on one machine would write into one folder, one stream or one table."""
    if turn != "now":
        pytest.skip("every third day, or with --all-faults")
    both = [suite(tmp_path, "-m", "caseB", "tests/cases/test_sink_baseline.py") for _ in range(2)]
    said = [process.communicate(timeout=240)[0] for process in both]
    # On a busy machine a producer may fall short: that is INVALID, and told. Nothing may be lost or doubled.
    allowed = (0, exit_codes.INVALID)
    assert [process.returncode in allowed for process in both] == [True, True], said
    results = [json.loads(path.read_text()) for path in tmp_path.glob("B-*/result.json")]
    assert len({result["run_id"] for result in results}) == 2
    for result in results:
        ledger = result["ledger"]
        assert ledger["expected"] == ledger["seen"] > 0
        assert [ledger[name] for name in ("lost", "duplicates", "unexpected", "wrong")] == [0, 0, 0, 0]
    assert len(list(tmp_path.glob("report-*/report.html"))) == 2
