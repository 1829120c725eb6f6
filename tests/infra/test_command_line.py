"""pytest as a user runs it: bad input, exit codes, and nothing left behind after kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.process_family import command_words, descendants

pytestmark = pytest.mark.infra

ROOT = Path(__file__).parents[2]


def pytest_run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "0"], "--rate 0: must be 1 to"),
        (["--rate", "abc"], "--rate abc: not a whole number"),
        (["--partitions", "17"], "--partitions 17: must be 1 to 16"),
        (["--measure", "0"], "--measure 0: must be 4 to"),
        (["--warmup", "-1"], "--warmup -1: must be 0 to"),
        (["--num-keys", "0"], "--num-keys 0: must be 1 to"),
        (["--payload-bytes", "50"], "--payload-bytes 50 is too small"),
        (["--storage", "tape"], "--storage tape: choose memory or file"),
        (["--replicas", "2"], "--replicas 2: JetStream keeps 1, 3 or 5"),
        # In one word: apart, pytest would take a folder of that name beside us for its root.
        (["--run-id=../x"], "--run-id: run id '../x'"),
        (["--profile", "huge"], "--profile huge: unknown"),
        (["--infra", "cloud"], "--infra cloud: choose one of"),
        (["--seed", "x"], "--seed x: not a whole number"),
        (["--engine", "flink"], "--engine flink: choose one of spark, bento, arroyo, rw"),
        (["--engine", "rw", "--window-clock", "processing"], "--window-clock processing: rw closes"),
        (["--duration", "soon"], "--duration soon: wanted something like 90s, 20m, 12h or 1h30m"),
        (["--duration", "3s"], "--duration 3s: must be 10 s to 7 days"),
    ],
)
def test_a_bad_option_is_one_clear_line(words, said):
    """A user would get a traceback, or worse, a run with other settings than asked for."""
    done = pytest_run("-m", "caseA", *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {said}" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (
            ["--infra=external"],
            {
                "JETLAG_NATS_URL": "nats://127.0.0.1:9",
                "JETLAG_TIDB_URL": "mysql://u:secret@127.0.0.1:9/bench",
            },
            "127.0.0.1:9",
        ),
        (
            ["--infra=external"],
            {"JETLAG_NATS_URL": "nats://nats.example:4222", "JETLAG_TIDB_URL": "mysql://u@127.0.0.1:9/bench"},
            "--allow-remote-target",
        ),
        (["--infra=external"], {"JETLAG_NATS_URL": "", "JETLAG_TIDB_URL": ""}, "JETLAG_NATS_URL"),
        (["--infra=containers"], {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}, "--infra=containers"),
    ],
    ids=["unreachable", "remote without consent", "no address", "no Docker engine"],
)
def test_services_that_cannot_be_had_are_one_clear_line(words, env, said):
    """A user would search a traceback for what to mend."""
    done = pytest_run("-q", "-m", "caseA", *words, env=env)
    assert done.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert said in done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    assert "secret" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("engine", "command"),
    [
        ("arroyo", "docker pull ghcr.io/arroyosystems/arroyo:latest"),
        ("rw", "docker pull risingwavelabs/risingwave:v3.0.3"),
    ],
)
def test_an_engine_that_is_not_at_hand_is_skipped_with_the_command_that_gets_it(engine, command):
    """A user would be told that the run failed, or nothing at all."""
    env = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    env |= dict.fromkeys(("JETLAG_ARROYO_URL", "JETLAG_RISINGWAVE_URL"), "")
    words = ("-q", "-m", "caseC", "--infra=local", "--engine", engine, "tests/cases/test_engine.py")
    done = pytest_run(*words, env=env)
    assert done.returncode == 0, done.stdout
    assert f"{engine} is not at hand: no Docker engine answers at unix:///nonexistent" in done.stdout
    assert f"`{command}`" in done.stdout
    assert "1 skipped" in done.stdout


def test_a_run_id_names_one_run(tmp_path):
    """A second run of the same name would overwrite the first one's report."""
    (tmp_path / "twice").mkdir()
    done = pytest_run(
        "-q",
        "-m",
        "caseA",
        "--infra=local",
        "--run-id",
        "twice",
        f"--reports-dir={tmp_path}",
        "-k",
        "test_case_a",
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "choose another --run-id" in done.stdout
    assert "Traceback" not in done.stdout


def start_case_b(reports: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--matrix",
            "-k",
            "test_case_b or test_case_f",
            "--infra=local",
            f"--reports-dir={reports}",
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_metric_line(reports: Path, suite: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not any("PROD" in log.read_text() for log in reports.glob("*/run.log")):
        assert suite.poll() is None, "the suite ended before it measured anything"
        assert time.monotonic() < deadline, "no metric line"
        time.sleep(0.1)


def wait_gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(processes, timeout=20)
    return alive


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=["kill -9", "Ctrl-C", "TERM"]
)
def test_a_suite_that_is_cut_off_leaves_nothing_running(tmp_path, how):
    """Services would pile up on a CI machine after every cancelled job."""
    suite = start_case_b(tmp_path)
    wait_for_metric_line(tmp_path, suite)
    services = descendants(suite.pid)
    folders = {
        Path(word).parent
        for words in command_words(services)
        for word in words
        if word.endswith((".conf", ".toml"))
    }
    assert len(services) >= 2
    assert folders
    suite.send_signal(how)
    suite.wait(timeout=60)
    assert wait_gone(services) == []
    deadline = time.monotonic() + 20
    while any(folder.exists() for folder in folders) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(folder.exists() for folder in folders)
    if how == signal.SIGINT:
        assert '"INVALID"' in next(tmp_path.glob("*/result.json")).read_text()
        summary = json.loads(next(tmp_path.glob("report-*/summary.json")).read_text())
        assert [(run["name"], run["verdict"]) for run in summary["runs"]] == [("B-mock", "INVALID")]
        assert {"name": "F-spark", "reason": "interrupted before its turn"}.items() <= next(
            one for one in summary["not_run"] if one["name"] == "F-spark"
        ).items()
