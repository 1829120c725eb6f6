"""The folder of one run: reports/<run_id>/ and what is written there while it goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson

from bench.latency import HlogWriter


class ReportsError(Exception):
    """The reports folder cannot be written; one line that names it."""


class RunFiles:
    """run.log, metrics.jsonl, resources.jsonl and latency.hlog, open for appending."""

    def __init__(self, reports_dir: Path, run_id: str, start_epoch_s: float) -> None:
        self.folder = reports_dir / run_id
        try:
            reports_dir.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir()
        except FileExistsError:
            raise ReportsError(
                f"{self.folder} exists already: a run id names one run; choose another --run-id"
            ) from None
        except OSError as error:
            raise ReportsError(
                f"--reports-dir {reports_dir}: cannot make {self.folder}: {error.strerror}"
            ) from None
        self._log = (self.folder / "run.log").open("w", encoding="utf-8", buffering=1)
        self._metrics = (self.folder / "metrics.jsonl").open("wb", buffering=0)
        self._resources = (self.folder / "resources.jsonl").open("wb", buffering=0)
        self.histograms = HlogWriter(self.folder / "latency.hlog", start_epoch_s)

    def line(self, text: str) -> None:
        self._log.write(text + "\n")

    def metric(self, record: dict[str, Any]) -> None:
        self._metrics.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def resource(self, record: dict[str, Any]) -> None:
        self._resources.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        data = orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
        (self.folder / name).write_bytes(data + b"\n")

    def close(self) -> None:
        for file in (self._log, self._metrics, self._resources):
            file.close()
        self.histograms.close()

    def point_latest(self) -> None:
        """Make reports/latest lead here, in one step: a reader never finds it missing."""
        link = self.folder.parent / "latest"
        fresh = self.folder.parent / f".latest-{os.getpid()}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(self.folder.name)
        fresh.replace(link)
