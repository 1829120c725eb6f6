"""The folder of one run: reports/<run_id>/ and what is written there while it goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from hdrh.histogram import HdrHistogram

from bench.latency import HlogWriter

#: The link to the newest run; no run can have this name.
LATEST = "latest"


class ReportsError(Exception):
    """The reports folder cannot be written; one line that names it."""


class RunFiles:
    """run.log, metrics.jsonl, resources.jsonl and latency.hlog, open for appending."""

    def __init__(self, reports_dir: Path, run_id: str, start_epoch_s: float) -> None:
        self.folder = reports_dir / run_id
        try:
            reports_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReportsError(f"--reports-dir {reports_dir}: {error.strerror}") from None
        try:
            self.folder.mkdir()
        except FileExistsError:
            raise ReportsError(
                f"{self.folder} exists already: a run id names one run; choose another --run-id"
            ) from None
        except OSError as error:
            raise ReportsError(
                f"--reports-dir {reports_dir}: cannot make {self.folder}: {error.strerror}"
            ) from None
        with self._writing():
            self._log = (self.folder / "run.log").open("w", encoding="utf-8", buffering=1)
            self._metrics = (self.folder / "metrics.jsonl").open("wb", buffering=0)
            self._resources = (self.folder / "resources.jsonl").open("wb", buffering=0)
            self._histograms = HlogWriter(self.folder / "latency.hlog", start_epoch_s)

    def line(self, text: str) -> None:
        with self._writing():
            self._log.write(text + "\n")

    def metric(self, record: dict[str, Any]) -> None:
        with self._writing():
            self._metrics.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def resource(self, record: dict[str, Any]) -> None:
        with self._writing():
            self._resources.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def interval(self, tag: str, histogram: HdrHistogram, start_epoch_s: float, end_epoch_s: float) -> None:
        with self._writing():
            self._histograms.write(tag, histogram, start_epoch_s, end_epoch_s)

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        data = orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
        with self._writing():
            (self.folder / name).write_bytes(data + b"\n")

    def close(self) -> None:
        for file in (self._log, self._metrics, self._resources, self._histograms):
            # Closing tries again what an earlier write could not: that write has told of it, and a second
            # error here would take its place.
            with suppress(OSError):
                file.close()

    def point_latest(self) -> None:
        """Make reports/latest lead here, in one step: a reader never finds it missing."""
        link = self.folder.parent / LATEST
        fresh = self.folder.parent / f".{LATEST}-{os.getpid()}"
        with self._writing():
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(self.folder.name)
            try:
                fresh.replace(link)
            except OSError:
                fresh.unlink()
                raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ReportsError(f"cannot write {self.folder}: {error.strerror or error}") from error
