"""CPU and memory of the measure window, also across a restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.phases import Phases
from bench.resources import Usage
from bench.runfiles import RunFiles
from bench.usage_log import UsageLog

SECOND_NS = 1_000_000_000
PHASES = Phases(100 * SECOND_NS, 102 * SECOND_NS, 107 * SECOND_NS)


@pytest.fixture
def files(tmp_path: Path):
    opened = RunFiles(tmp_path, "run", 1_700_000_000.0)
    yield opened
    opened.close()


def test_only_the_measure_window_counts(files: RunFiles) -> None:
    """If this fails, the start of a service or the end of a run is in its mean."""
    log = UsageLog(files, PHASES)
    for at_s in (99.0, 101.9, 102.0, 104.0, 106.9, 107.0, 120.0):
        log.add("nats", Usage(cpu_s=at_s * 2, rss_bytes=int(at_s)), at_s)
    assert log.summary() == {"nats": {"rss_bytes_max": 106.0, "cpu_cores_mean": 2.0}}
    written = [json.loads(line) for line in (files.folder / "resources.jsonl").read_text().splitlines()]
    assert [one["t_s"] for one in written] == [2.0, 4.0, 6.9]
    assert set(written[0]) == {"t_s", "name", "cpu_s", "rss_bytes"}


def test_components_are_apart(files: RunFiles) -> None:
    """If this fails, the driver's CPU is booked to the service."""
    log = UsageLog(files, PHASES)
    for second in range(3):
        log.add("nats", Usage(1.0 * second, 10), 103.0 + second)
        log.add("driver", Usage(0.5 * second, 20 + second), 103.5 + second)
    assert log.summary() == {
        "nats": {"rss_bytes_max": 10.0, "cpu_cores_mean": 1.0},
        "driver": {"rss_bytes_max": 22.0, "cpu_cores_mean": 0.5},
    }


@pytest.mark.parametrize(
    "after", [[0.1, 0.2, 0.3], [0.5, 20.0, 40.0]], ids=["less at the end", "more at the end"]
)
def test_a_restarted_service_has_no_mean(files: RunFiles, after: list[float]) -> None:
    """If this fails, a service that was restarted reports the CPU of its second life over both."""
    log = UsageLog(files, PHASES)
    for second, cpu_s in enumerate([10.0, 11.0, *after]):
        log.add("tidb", Usage(cpu_s, 100 + second), 102.0 + second)
    assert log.summary() == {"tidb": {"rss_bytes_max": 104.0}}


def test_one_sample_has_no_mean_and_none_no_entry(files: RunFiles) -> None:
    """If this fails, a single sample divides by zero."""
    log = UsageLog(files, PHASES)
    assert log.summary() == {}
    log.add("nats", Usage(1.0, 7), 103.0)
    assert log.summary() == {"nats": {"rss_bytes_max": 7.0}}


def test_an_idle_service_has_a_mean_of_nothing(files: RunFiles) -> None:
    """If this fails, a service that used no CPU looks like one that was not measured."""
    log = UsageLog(files, PHASES)
    for second in range(3):
        log.add("nats", Usage(4.0, 7), 103.0 + second)
    assert log.summary()["nats"]["cpu_cores_mean"] == 0
