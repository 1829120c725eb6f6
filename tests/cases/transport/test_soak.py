"""The soak: a constant low rate for as long as asked for, and nothing drifts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.infra.waiting import wait_until
from bench.transport.soak import run_soak, soak_cell

pytestmark = pytest.mark.transport
ROOT = Path(__file__).parents[3]

#: Seconds by profile, unless --duration says otherwise.
DURATIONS_S = {"smoke": 12, "short": 60, "standard": 300, "soak": 12 * 3600}
#: Below this the quarters are too short to be compared strictly.
STRICT_FROM_S = 300


@pytest.mark.soak
def test_soak(settings, cluster, book, show):
    """Latency, memory or disk would creep up over hours, and every short run would still be green."""
    duration_s = settings.duration_s or DURATIONS_S[settings.profile.name]
    cell = soak_cell(duration_s, settings.rate_per_s or 50)
    folder = book.folder / "soak"
    result = run_soak(cluster, cell, duration_s, folder, show, wide=duration_s < STRICT_FROM_S)
    book.note(result)
    result.report.raise_unless_pass()
    assert result.complete
    assert (folder / "soak.jsonl").read_text().count("\n") == result.metrics["samples"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_soak_that_is_cut_off_still_reports(provider, tmp_path, how):
    """Eleven hours of a soak of twelve would be lost with the process that ran it."""
    words = ["-q", f"--infra={provider.name}", "--profile=soak", "--duration=2m", f"--reports-dir={tmp_path}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", str(Path(__file__).parent), *words],
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def reported() -> list[Path]:
        return [path for path in tmp_path.glob("*/soak/soak.jsonl") if path.read_text().count("\n") >= 2]

    try:
        wait_until(reported, 60.0, "the soak reports nothing while it goes")
        process.send_signal(how)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    folder = reported()[0].parent
    result = json.loads((folder / "result.json").read_text())
    assert result["complete"] is False
    assert result["verdict"] == "INVALID", "a few seconds prove no stability"
    assert result["duration_s"] > 0
    assert json.loads((folder / "manifest.json").read_text())["placement"]
