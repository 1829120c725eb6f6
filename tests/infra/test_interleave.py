"""`python -m bench compare --interleave`: real turns of two revisions, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bench.infra.leashed import LEASH
from tests.process_family import command_words, descendants

pytestmark = pytest.mark.infra

ROOT = Path(__file__).parents[2]
SHORT = ["-q", "-k", "test_case_a", "--infra=local", "--warmup=0", "--measure=4"]


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def in_a_git_checkout() -> None:
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("not a git checkout: there are no revisions to compare")


def command(reports: Path, *words: str) -> list[str]:
    start = [sys.executable, "-m", "bench", "compare", f"--reports-dir={reports}"]
    return [*start, *words, "--", *SHORT]


def test_two_turns_of_a_revision_and_the_tree_as_it_stands(tmp_path):
    """Base and head would not be run, or not be what was asked for, or leave their trees."""
    before = git("worktree", "list")
    words = command(tmp_path, "--interleave", "1", "HEAD", ".", "--new-options=--rate 1500")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert "Traceback" not in done.stdout + done.stderr
    folder = next(tmp_path.glob("interleave-*"))
    told = json.loads((folder / "compare.json").read_text())
    assert done.returncode == told["exit_code"], done.stdout + done.stderr
    manifests = {
        side: json.loads(next((folder / side).glob("A-*/manifest.json")).read_text())
        for side in ("base", "new")
    }
    assert manifests["base"]["git"] == {"commit": git("rev-parse", "HEAD").strip(), "dirty": False}
    assert manifests["new"]["load"]["rate_per_s"] == 1500
    assert "load.rate_per_s: 2000 in the base, 1500 now" in done.stdout
    assert "turn 2 of 2: new (.) --rate 1500" in done.stderr
    assert git("worktree", "list") == before
    compared_with(folder / "base", tmp_path)


def compared_with(baseline: Path, reports: Path) -> None:
    """The same run once more, with the first as its --baseline."""
    words = [sys.executable, "-m", "pytest", *SHORT, f"--baseline={baseline}", f"--reports-dir={reports}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    told = json.loads(next(reports.glob("report-*/compare.json")).read_text())
    assert f"compared with {baseline}" in done.stdout
    assert told["cases"][0]["finding"] in ("no regression", "regression", "invalid"), told
    assert done.returncode == told["exit_code"] or "failed" in done.stdout


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "kill -9"])
def test_a_comparison_that_is_cut_off_leaves_nothing(tmp_path, how):
    """A cancelled job would leave a worktree in the repository and services on the machine."""
    before = git("worktree", "list")
    comparing = subprocess.Popen(
        command(tmp_path, "--interleave", "2", "HEAD", "HEAD"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not any("PROD" in log.read_text() for log in tmp_path.glob("interleave-*/base/*/run.log")):
        assert comparing.poll() is None, "it ended before it measured anything"
        assert time.monotonic() < deadline, "no metric line"
        time.sleep(0.1)
    family = descendants(comparing.pid)
    assert any(str(LEASH) in words for words in command_words(family))
    assert git("worktree", "list") != before
    comparing.send_signal(how)
    assert comparing.wait(60) == (130 if how == signal.SIGTERM else -9)
    assert psutil.wait_procs(family, timeout=60)[1] == []
    deadline = time.monotonic() + 20
    while git("worktree", "list") != before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert git("worktree", "list") == before
