"""Revisions laid out for a comparison: the right content, and nothing left behind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.compare.command import with_thresholds
from bench.compare.interleave import Side, interleaved
from bench.compare.worktree import worktrees
from bench.folders import FolderError


def git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
        cwd=repository, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for text in ("old", "new"):
        (tmp_path / "file").write_text(text)
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "-qm", text)
    (tmp_path / "file").write_text("not committed")
    return tmp_path


def test_each_revision_has_its_content_and_all_goes_away(repository: Path) -> None:
    """If this fails, base and head are the same code, or each comparison leaves a tree behind."""
    with worktrees(["HEAD~1", "HEAD", "."], repository) as (old, new, here):
        assert [(place / "file").read_text() for place in (old, new, here)] == ["old", "new", "not committed"]
        (old / "left.txt").write_text("a file that a run left")
        folder = old.parent
    assert not folder.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not (repository / ".git" / "worktrees").exists()


def test_all_goes_away_after_an_error_too(repository: Path) -> None:
    """If this fails, a comparison that was interrupted leaves its trees."""
    places: list[Path] = []

    def interrupted() -> None:
        with worktrees(["HEAD", "HEAD"], repository) as trees:
            places.extend(trees)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert places[0] == places[1]
    assert not places[0].exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", ""])
def test_an_unknown_revision_is_one_line(repository: Path, revision: str) -> None:
    """If this fails, a typo ends in a traceback, or becomes an option of git's."""
    with pytest.raises(FolderError, match="no such git revision"), worktrees([revision], repository):
        pass


@pytest.mark.parametrize(
    ("turns", "words", "said"),
    [
        (0, ["-m", "caseA"], "--interleave 0: must be 1 to"),
        (3, [], "needs words for pytest"),
        (3, ["-m", "caseA", "--run-id=x"], "--run-id=x: the turns have folders and names of their own"),
        (3, ["--reports-dir", "y"], "--reports-dir: the turns"),
    ],
)
def test_turns_that_cannot_be_run_are_refused_at_once(
    tmp_path: Path, turns: int, words: list[str], said: str
) -> None:
    """If this fails, the mistake shows after an hour of measuring."""
    sides = [Side("base", ".", []), Side("new", ".", [])]
    with pytest.raises(FolderError) as error:
        interleaved(sides, turns, words, tmp_path / "out", lambda _line: None)
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("pair", ["nonsense=0.1", "latency_ms_p50", "latency_ms_p50=x", "latency_ms_p50=-1"])
def test_a_threshold_that_will_not_do_is_named(pair: str) -> None:
    """If this fails, a misspelt threshold is ignored in silence."""
    with pytest.raises(FolderError) as error:
        with_thresholds([pair])
    assert f"--threshold {pair}" in str(error.value)


def test_a_threshold_replaces_the_usual_one() -> None:
    """If this fails, --threshold changes nothing."""
    found = {metric.name: metric.threshold_share for metric in with_thresholds(["lag_max=0.5"])}
    assert found["lag_max"] == 0.5
    assert found["latency_ms_p50"] == 0.10
