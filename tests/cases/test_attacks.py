"""The harness attacked: whatever is done to it, it says so. Never a green run, never silence.

Beside test_sabotage.py (doctored rows, a dead driver, a stalled database) and test_attacked_suite.py among
the tests of the infrastructure (two suites at once, Ctrl-C at every phase).
"""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from bench.cases import case_a, case_b
from bench.clock import RunClock
from bench.fault.spec import Fault
from bench.infra.small_disk import fill, may_mount, mount_small, unmount_command
from bench.intervention import Intervention
from bench.runfiles import ReportsError
from bench.stream_admin import StreamAdmin
from bench.verdict import Verdict
from tests.process_family import command_words, descendants

pytestmark = pytest.mark.sabotage


@pytest.fixture
def attacked(run, tmp_path):
    """Runs a case once, outside the reports folder and the closing table."""

    def go(case, stack, *interventions, **more):
        return run(case, stack, interventions, listed=False, retries=0, **{"reports_dir": tmp_path, **more})

    return go


def test_a_clock_that_jumps_makes_the_run_invalid(settings, nats_stack, attacked, monkeypatch):
    """An NTP step in mid-run would move every latency, and the run would still be a measurement."""
    jumped_ns = [0]
    faked = lambda: RunClock(wall_ns=lambda: time.time_ns() + jumped_ns[0])  # noqa: E731
    monkeypatch.setattr("bench.run.RunClock", faked)

    def jump():
        jumped_ns[0] = -3_000_000_000

    outcome = attacked(case_a(settings), nats_stack, Intervention(2.0, jump))
    assert outcome.verdict is Verdict.INVALID
    assert any(reason.startswith("wall_drift_ms_abs") for reason in outcome.report.invalid_reasons)


def test_a_nats_that_rejects_publishes_makes_the_run_invalid(settings, nats_stack, attacked):
    """What JetStream refused would be missing from the load, and the run would look fine."""

    def refuse():
        with StreamAdmin(nats_stack.nats.endpoint) as admin:
            admin.refuse_more("EVENTS")

    outcome = attacked(case_a(settings), nats_stack, Intervention(2.0, refuse))
    assert outcome.verdict is Verdict.INVALID
    assert outcome.metrics["publishes_refused"] > 0
    assert any("publish refused" in reason for reason in outcome.report.invalid_reasons)
    assert outcome.account.lost == 0, "what was refused was not acknowledged, so it is not lost"


def test_a_full_reports_disk_is_one_clear_line(settings, nats_stack, attacked, tmp_path):
    """A run whose report could not be written would end green, with nothing to show for it."""
    if not may_mount():
        pytest.skip("a small disk needs the right to mount")
    mount_small(tmp_path, 2 << 20)
    try:
        with pytest.raises(ReportsError) as caught:
            attacked(case_a(settings), nats_stack, Intervention(2.0, lambda: fill(tmp_path)))
    finally:
        subprocess.run(unmount_command(tmp_path), check=True)
    assert "No space left on device" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_no_secret_is_in_a_hurt_run_s_files_errors_and_process_list(settings, full_stack, attacked):
    """A report goes to colleagues and CI logs; whoever reads it would have the database."""
    secrets = [*full_stack.nats._secrets(), *full_stack.tidb._secrets()]
    assert all(len(secret) >= 16 for secret in secrets)
    command_lines: list[str] = []

    def look():
        command_lines.extend(" ".join(words) for words in command_words(descendants(os.getpid())))

    # The drivers' errors and the outages then have texts of their own.
    faults = [Fault("tidb", "kill", 4.0, 0.5)]
    outcome = attacked(case_b(settings), full_stack, Intervention(3.0, look), faults=faults)
    assert outcome.outages, "nothing was said, so nothing could have been said wrongly"
    assert len(command_lines) >= 4
    told = [repr(outcome), *command_lines, *(path.read_text() for path in outcome.folder.iterdir())]
    told += [full_stack.nats.log_tail(1000), full_stack.tidb.log_tail(1000)]
    assert not [text[:200] for text in told for secret in secrets if secret in text]
