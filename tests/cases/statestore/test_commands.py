"""The commands from set-up to ledger, with a kill -9 of the engine in the middle."""

from __future__ import annotations

import json

import psutil
import pytest

from bench.infra.waiting import wait_until
from bench.statestore.figures import last_totals
from bench.verdict import RunInvalid
from tests.cases.statestore.commands import Commands

pytestmark = pytest.mark.statestore

FIELDS = [
    *("timestamp", "totalTaskStarts", "totalTaskStartLatency", "maxTaskStartLatency"),
    *("totalTaskCompletes", "totalTaskCompleteLatency", "maxTaskCompleteLatency", "messagesProcessed"),
]
WORKFLOWS, SIZE = 60, 1_000
SERVER = ("--task-timeout", "5", "--max-messages", "2000", "--audit")


def test_commands_and_a_kill(tmp_path, book, show):
    """A workflow would end twice or never, or a timer be lost, when the engine dies; a command would lie."""
    with Commands(tmp_path / "home") as commands:
        assert commands.run("setup").returncode == 0
        commands.start_server(*SERVER)
        show("statestore: the server is ready")
        launched = commands.run("launch-tests", str(WORKFLOWS), str(SIZE), "--no-wait")
        assert launched.returncode == 0, launched.stderr
        truth = commands.home.truth()
        assert len(truth.workflows) == WORKFLOWS
        assert truth.stuck

        def done() -> int:
            return last_totals(commands.folder).get("messages", 0)

        wait_until(lambda: done() > 0, 60, commands.said)
        commands.kill_spark()
        if not 0 < done() < truth.messages:
            raise RunInvalid([f"the kill came at {done()} of {truth.messages} messages: not in the middle"])
        commands.wait_for_server_to_end()
        assert "the server has ended" in commands.said()
        show("statestore: killed in the middle; starting again")

        commands.start_server(*SERVER)
        ended = lambda: {one["of"] for one in commands.endings() if one["kind"] == "ended"}  # noqa: E731
        wait_until(lambda: ended() >= truth.workflows, 90, commands.said, interval_s=0.5)
        windows = windows_of(commands.run("workflow-metrics", "1000").stdout)
        assert all(list(window) == FIELDS for window in windows)
        assert sum(window["messagesProcessed"] for window in windows) == truth.messages
        assert sum(window["totalTaskStarts"] for window in windows) == truth.task_runs
        assert len(windows_of(commands.run("workflow-metrics", "1").stdout)) == 1
        told = commands.run("streams-metrics").stdout
        assert "stateOperators.0.rocksdbSstFileSize " in told
        endings, family = commands.endings(), commands.family()
        commands.stop_server()
        _, left = psutil.wait_procs(family, timeout=10)
        assert not [process for process in left if process.status() != psutil.STATUS_ZOMBIE]

        ledger = commands.run("ledger")
        assert ledger.returncode == 0, ledger.stdout + ledger.stderr
        assert "ledger: PASS" in ledger.stdout
        outcome = book.of_home("smoke, one kill -9", commands.folder, truth, endings)
        outcome.report.raise_unless_pass()
        assert outcome.measured.mb_per_s > 0


def windows_of(text: str) -> list[dict]:
    return json.loads("[" + text.strip().replace("}\n{", "},{") + "]")
