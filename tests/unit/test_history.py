"""The history of matrices: appended whole, read whatever happened to it, and its lasting changes found."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.change_points import change_points
from bench.history import Entry, append_history, likeness, read_history
from bench.report import write_report
from bench.trend import trends_of
from bench.verdict import Verdict
from tests.unit.made_runs import MANIFEST, differing, run

HOSTILE = "</script><img src=x onerror=alert(1)>"


def entries(levels: list[float], **changes: object) -> list[Entry]:
    like = likeness(MANIFEST)
    return [
        replace(
            Entry(f"2026-01-{day:02}T02:00:00+00:00", f"B-{day}", "B-mock", 1000, "PASS", f"c{day}", like,
                  {"latency_ms_p50": level, "output_rate_per_s": 1000.0}),
            **changes,
        )
        for day, level in enumerate(levels, 1)
    ]  # fmt: skip


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    """If this fails, last night is not in the trend."""
    path = tmp_path / "history.jsonl"
    append_history(path, [run(1), run(2, verdict=Verdict.INVALID)])
    append_history(path, [run(3)])
    read = read_history(path)
    assert [entry.run_id for entry in read] == ["B-1", "B-2", "B-3"]
    assert read[0].figures["latency_ms_p50"] == pytest.approx(40, rel=0.1)
    assert read[1].figures == {}, "an INVALID run has no figures"
    assert read[0].like == read[2].like == likeness(MANIFEST)


def test_damage_costs_a_line_not_the_history(tmp_path: Path) -> None:
    """If this fails, a full disk one night ends the trend for ever."""
    path = tmp_path / "history.jsonl"
    append_history(path, [run(1)])
    with path.open("ab") as file:
        file.write(b'{"half": \n[1]\n"text"\n{"history_version": 99}\n\xff\n')
    append_history(path, [run(2)])
    assert [entry.run_id for entry in read_history(path)] == ["B-1", "B-2"]
    assert read_history(tmp_path / "none") == []


def test_two_suites_at_once_do_not_mix(tmp_path: Path) -> None:
    """If this fails, two matrices that end together leave half lines."""
    path = tmp_path / "history.jsonl"
    runs = [run(seed) for seed in range(3)]
    threads = [threading.Thread(target=append_history, args=(path, runs)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_history(path)) == 24


def test_another_machine_or_setting_is_another_history() -> None:
    """If this fails, a faster machine shows as an improvement of the code."""
    mine = likeness(MANIFEST)
    assert likeness(differing(machine={"cores": 4})) != mine
    assert likeness(differing(transport={"storage": "file"})) != mine
    assert likeness({**MANIFEST, "case_version": 2}) != mine
    assert likeness(differing(machine={"load_average_1m": 9.0})) == mine
    assert likeness(differing(machine={"memory_bytes": 25_100_000_000})) == mine
    assert likeness(differing(engine={"version": "4.4.0"})) == mine, "an upgrade must show in the trend"
    other = entries([1.0] * 9, like="other")
    assert trends_of([run(1)], other) == []


def test_a_lasting_change_is_found_where_it_was() -> None:
    """If this fails, nobody can say which commit made it slow."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(100):
        levels = rng.lognormal(3, 0.05, 40)
        levels[25:] *= 1.2
        points = change_points(levels.tolist(), 0.1)
        found += any(abs(point.index - 25) <= 1 and point.after > point.before for point in points)
    assert found >= 95


def test_noise_and_one_bad_night_are_no_change() -> None:
    """If this fails, the trend cries wolf every week."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(100):
        levels = rng.lognormal(3, 0.1, 40)
        levels[20] *= 3
        alarms += bool(change_points(levels.tolist(), 0.1))
    assert alarms <= 5


@given(st.lists(st.floats(0, 1e9, allow_nan=False), max_size=60), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_no_history_is_a_crash(levels: list[float], threshold: float) -> None:
    """If this fails, an odd night ends the report in a traceback."""
    for point in change_points(levels, threshold):
        assert 4 <= point.index <= len(levels) - 4


def test_the_page_has_the_trend(tmp_path: Path) -> None:
    """If this fails, the report shows tonight only, or a commit's name becomes markup."""
    levels = [10.0, 10.1, 9.9, 10.05, 10.0, 9.95, 13.0, 13.1, 12.9, 13.05, 13.0, 12.95]
    (trend,) = trends_of([run(1)], entries(levels, commit=HOSTILE))
    assert trend.title == "B-mock at 1,000/s: 12 runs since 2026-01-01"
    chart = trend.charts[0]
    assert chart.windows_s == (6.5,), "between the sixth run and the seventh"
    assert chart.note.startswith("Worse by 30")
    assert "2026-01-07" in chart.note
    page = write_report([], [], tmp_path, [trend]).read_text()
    assert 'id="trend"' in page
    assert "Worse by 30" in page
    assert HOSTILE not in page


def test_two_runs_are_no_trend() -> None:
    """If this fails, the first nights show a line through two points as if it meant something."""
    assert trends_of([run(1)], entries([1.0, 2.0])) == []
