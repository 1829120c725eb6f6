"""The leash: whatever kills us, the services and their folders go with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.infra.errors import ServiceError
from bench.infra.leashed import Leashed
from bench.infra.waiting import wait_until

pytestmark = pytest.mark.infra
GONE_TIMEOUT_S = 60.0
ROOT = Path(__file__).resolve().parents[2]

HOLDER_OF_BOTH = """
import sys, time
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
for service in (LocalNats(), LocalTidb()):
    service.start()
    service.wait_ready()
    print(service.pids()[0], service._leash().supervisor_pid, service._leash().folder, flush=True)
{then}
"""
SLEEP = "time.sleep(600)"
# A forked worker holds a copy of every socket, so the leash sees no end of file when its parent dies.
FORK_AND_SLEEP = "import os\nforked = os.fork()\nif forked: print(forked, 0, '/', flush=True)\n" + SLEEP


def hold_both(then: str, lines: int) -> tuple[subprocess.Popen[str], list[tuple[int, int, Path]]]:
    code = HOLDER_OF_BOTH.format(then=then)
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert holder.stdout is not None
    seen: list[tuple[int, int, Path]] = []
    for line in holder.stdout:
        pid, supervisor, folder = line.split(maxsplit=2)
        seen.append((int(pid), int(supervisor), Path(folder.strip())))
        if len(seen) == lines:
            return holder, seen
    raise AssertionError(f"the holder ended with {holder.wait()}")


def assert_all_gone(seen: list[tuple[int, int, Path]]) -> None:
    for pid, supervisor, folder in seen:
        wait_until(
            lambda pid=pid, supervisor=supervisor, folder=folder: (
                not (psutil.pid_exists(pid) or psutil.pid_exists(supervisor) or folder.exists())
            ),
            GONE_TIMEOUT_S,
            f"process {pid}, its supervisor {supervisor} or the folder {folder} is left",
        )


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_death_of_the_parent_takes_the_services_along(signum: signal.Signals) -> None:
    """A crashed or killed test run would leave servers that eat memory and ports for days."""
    holder, seen = hold_both(SLEEP, lines=2)
    try:
        assert all(psutil.pid_exists(pid) for pid, _, _ in seen)
        holder.send_signal(signum)
    finally:
        holder.kill()
        holder.communicate()
    assert_all_gone(seen)


def test_a_surviving_fork_does_not_keep_the_services_alive() -> None:
    """A worker forked by the tests inherits the leash's socket; it must not stand in for the dead parent."""
    holder, seen = hold_both(FORK_AND_SLEEP, lines=3)
    forked, *_ = seen.pop()
    try:
        holder.kill()
        holder.wait()
        assert psutil.pid_exists(forked)
        assert_all_gone(seen)
    finally:
        os.kill(forked, signal.SIGKILL)
        holder.communicate()


def test_ctrl_c_reaches_no_service() -> None:
    """The terminal sends Ctrl-C to the whole group: servers that die of it fail the tests' own clean-up."""
    leashed = Leashed("test")
    try:
        pid = leashed.start(["sleep", "600"], leashed.folder / "log")
        groups = {os.getpgid(pid), os.getpgid(leashed.supervisor_pid)}
        assert os.getpgrp() not in groups
        assert os.getsid(pid) != os.getsid(0)
    finally:
        leashed.close()


def test_death_of_the_leash_takes_the_service_along() -> None:
    """An out-of-memory killer that picks the leash would otherwise leave the service for ever."""
    leashed = Leashed("test")
    try:
        pid = leashed.start(["sleep", "600"], leashed.folder / "log")
        os.kill(leashed.supervisor_pid, signal.SIGKILL)
        wait_until(lambda: not psutil.pid_exists(pid), GONE_TIMEOUT_S, f"process {pid} is left")
        with pytest.raises(ServiceError, match="supervisor"):
            leashed.running()
    finally:
        leashed.close()
    assert not leashed.folder.exists()


def test_a_service_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hung server would make every stop hang too."""
    monkeypatch.setattr("bench.infra.leashed.GRACE_S", 0.2)
    leashed = Leashed("test")
    log = leashed.folder / "log"
    pid = leashed.start(["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], log)
    wait_until(lambda: "deaf" in log.read_text(), GONE_TIMEOUT_S, "the process does not run")
    leashed.close()
    assert not psutil.pid_exists(pid)
    assert not leashed.folder.exists()


def test_the_clean_up_command_runs_at_the_end(tmp_path: Path) -> None:
    """Containers are not our children: this command is all that removes them when we die."""
    marker = tmp_path / "ran"
    leashed = Leashed("test")
    leashed.on_end(["touch", str(marker)])
    leashed.close()
    assert marker.exists()


def test_a_command_that_cannot_start_is_told() -> None:
    """A missing binary must be an error at start, not a timeout a minute later."""
    leashed = Leashed("test")
    try:
        with pytest.raises(ServiceError, match="no-such-binary cannot be started"):
            leashed.start(["/no-such-binary"], leashed.folder / "log")
    finally:
        leashed.close()
