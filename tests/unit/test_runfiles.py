"""The folder of a run: never another run's, whole while it goes, and one line when it cannot be written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from bench.runfiles import ReportsError, RunFiles

START_S = 1_700_000_000.0


def refusal(reports_dir: Path, run_id: str = "run") -> str:
    with pytest.raises(ReportsError) as caught:
        RunFiles(reports_dir, run_id, START_S)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.fixture
def files(tmp_path: Path):
    opened = RunFiles(tmp_path / "reports", "run", START_S)
    yield opened
    opened.close()


def test_a_run_gets_its_folder_and_files(tmp_path: Path) -> None:
    """If this fails, a report lacks a file that the documentation promises."""
    RunFiles(tmp_path / "a" / "b", "run", START_S).close()
    found = {path.name for path in (tmp_path / "a" / "b" / "run").iterdir()}
    assert found == {"run.log", "metrics.jsonl", "resources.jsonl", "latency.hlog"}


def test_a_folder_that_exists_is_refused_and_left_alone(tmp_path: Path) -> None:
    """If this fails, a second run of the same name overwrites the first."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.log").write_text("precious")
    said = refusal(tmp_path)
    assert str(tmp_path / "run") in said
    assert "choose another --run-id" in said
    assert (tmp_path / "run" / "run.log").read_text() == "precious"


def test_a_file_in_place_of_the_reports_folder_is_told_as_such(tmp_path: Path) -> None:
    """If this fails, a user is told to choose another run id when the folder is to blame."""
    blocked = tmp_path / "reports"
    blocked.write_text("")
    for folder in (blocked, blocked / "deeper"):
        said = refusal(folder)
        assert said.startswith(f"--reports-dir {folder}: ")
        assert "--run-id" not in said


def test_a_folder_without_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a read-only folder is a traceback."""
    made = Path.mkdir

    def refuse(self: Path, *args, **kwargs) -> None:
        if self.name == "run":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        made(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert refusal(tmp_path) == f"--reports-dir {tmp_path}: cannot make {tmp_path / 'run'}: Permission denied"


def full_disk(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every byte goes to a device that has no room."""
    for file in (files._log, files._metrics, files._resources, files._histograms._file):
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, file.fileno())
        os.close(full)
    (files.folder / "result.json").symlink_to("/dev/full")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "write",
    [
        lambda files: files.line("PROD"),
        lambda files: files.metric({"t_s": 1}),
        lambda files: files.resource({"t_s": 1}),
        lambda files: files.interval("measure", HdrHistogram(1, 1000, 3), START_S, START_S + 1),
        lambda files: files.write_json("result.json", {}),
    ],
    ids=["line", "metric", "resource", "interval", "json"],
)
def test_a_full_disk_is_one_line_and_closing_does_not_hide_it(files: RunFiles, monkeypatch, write) -> None:
    """If this fails, a full disk is a traceback from deep inside, or the second error hides the first."""
    full_disk(files, monkeypatch)
    with pytest.raises(ReportsError) as caught:
        write(files)
    assert str(caught.value) == f"cannot write {files.folder}: No space left on device"
    files.close()
    files.close()


def test_lines_are_on_disk_at_once(files: RunFiles) -> None:
    """If this fails, a run that is killed leaves nothing to look at."""
    files.line("PROD rate=1/s")
    files.metric({"t_s": 1.5, "p99_ms": None})
    files.resource({"name": "nats", "cpu_s": 0.25})
    assert (files.folder / "run.log").read_text() == "PROD rate=1/s\n"
    assert json.loads((files.folder / "metrics.jsonl").read_text()) == {"t_s": 1.5, "p99_ms": None}
    assert json.loads((files.folder / "resources.jsonl").read_text()) == {"name": "nats", "cpu_s": 0.25}


def strict(text: str):
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_strict_json(files: RunFiles) -> None:
    """If this fails, a NaN or a numpy number makes a report that no other program reads."""
    files.write_json(
        "result.json",
        {
            "nan": float("nan"),
            "inf": float("inf"),
            "numpy": np.int64(3),
            "float": np.float64(0.5),
            "text": "p99 ≤ 3 ms\n",
            "none": None,
        },
    )
    text = (files.folder / "result.json").read_text()
    assert text.endswith("}\n")
    assert strict(text) == {
        "nan": None,
        "inf": None,
        "numpy": 3,
        "float": 0.5,
        "text": "p99 ≤ 3 ms\n",
        "none": None,
    }


def test_latest_leads_to_the_newest_run(tmp_path: Path) -> None:
    """If this fails, reports/latest shows an old run, or breaks when the folder is moved."""
    for run_id in ("first", "second", "third"):
        files = RunFiles(tmp_path, run_id, START_S)
        files.point_latest()
        files.close()
        assert (tmp_path / "latest").readlink() == Path(run_id)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "latest", "second", "third"]


def test_latest_is_never_missing_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a reader in the wrong moment finds no reports/latest."""
    (tmp_path / "old").mkdir()
    (tmp_path / "latest").symlink_to("old")
    there: list[bool] = []

    def watched(function):
        def call(*args, **kwargs):
            there.append((tmp_path / "latest").is_symlink())
            done = function(*args, **kwargs)
            there.append((tmp_path / "latest").is_symlink())
            return done

        return call

    files = RunFiles(tmp_path, "new", START_S)
    for name in ("unlink", "symlink_to", "replace", "rename"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))
    files.point_latest()
    files.close()
    assert there
    assert all(there)
    assert (tmp_path / "latest").readlink() == Path("new")


def test_a_folder_called_latest_is_left_alone(tmp_path: Path) -> None:
    """If this fails, a user's own folder is replaced, or the link's half-made twin stays behind."""
    (tmp_path / "latest").mkdir()
    files = RunFiles(tmp_path, "run", START_S)
    with pytest.raises(ReportsError, match="cannot write"):
        files.point_latest()
    files.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run"]
    assert (tmp_path / "latest").is_dir()
