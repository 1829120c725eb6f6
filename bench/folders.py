"""The runs under a path that somebody named."""

from __future__ import annotations

from pathlib import Path

from bench.report.folder import is_run_folder


class FolderError(Exception):
    """What was asked for cannot be done; one line that names the cause."""


def run_folders(folder: Path) -> list[Path]:
    """The folder itself, or the runs in it; a link such as `latest` would show a run twice."""
    if not folder.is_dir():
        raise FolderError(f"{folder}: no such folder")
    if is_run_folder(folder):
        return [folder]
    runs = sorted(one for one in folder.iterdir() if not one.is_symlink() and is_run_folder(one))
    if not runs:
        raise FolderError(f"{folder}: holds no run (no result.json, manifest.json or metrics.jsonl)")
    return runs
