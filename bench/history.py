"""reports/history.jsonl: one line for every run of every matrix, small enough to keep for years."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import orjson

from bench.compare.sameness import REFUSED
from bench.compare.samples import samples_of
from bench.report.plain import Json, mapping, number, numbers, text
from bench.report.run import Run
from bench.verdict import Verdict

HISTORY = "history.jsonl"
HISTORY_VERSION = 1


@dataclass(frozen=True)
class Entry:
    at: str
    run_id: str
    case: str
    rate_per_s: float | None
    verdict: str
    commit: str
    #: The same for runs that may be compared: machine, case version and settings.
    like: str
    #: Medians of what a comparison compares; empty for an INVALID run.
    figures: dict[str, float | int]


def entry_of(run: Run) -> Entry:
    measured = run.verdict is not Verdict.INVALID
    figures = {name: median(values) for name, values in samples_of(run).items() if values} if measured else {}
    git = mapping(run.manifest.get("git"))
    return Entry(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        run_id=run.run_id,
        case=run.name,
        rate_per_s=run.target_rate_per_s,
        verdict=run.verdict.value,
        commit=text(git.get("commit"))[:12] + ("+" if git.get("dirty") else ""),
        like=likeness(run.manifest),
        figures=figures,
    )


def likeness(manifest: Json) -> str:
    """A short name for everything in which runs must agree to be compared; engine's versions may move on."""
    parts: dict[str, object] = {}
    for name in REFUSED:
        value: object = manifest
        for key in name.split("."):
            value = mapping(value).get(key)
        parts[name] = {k: v for k, v in value.items() if k != "version"} if isinstance(value, dict) else value
    memory = number(parts["machine.memory_bytes"])
    parts["machine.memory_bytes"] = None if memory is None else round(memory / 1e9)
    plain = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(plain).hexdigest()[:12]


def append_history(path: Path, runs: Sequence[Run]) -> None:
    """One write: lines of two suites that end at the same time do not mix."""
    lines = [orjson.dumps({"history_version": HISTORY_VERSION, **asdict(entry_of(run))}) for run in runs]
    with path.open("ab", buffering=0) as file:
        file.write(b"".join(line + b"\n" for line in lines))


def read_history(path: Path) -> list[Entry]:
    """Every whole line, oldest first; no file is no history, half a line is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    entries: list[Entry] = []
    for line in lines:
        try:
            record = mapping(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
        if record.get("history_version") == HISTORY_VERSION:
            entries.append(_entry(record))
    return entries


def _entry(record: Json) -> Entry:
    return Entry(
        **{name: text(record.get(name)) for name in ("at", "run_id", "case", "verdict", "commit", "like")},
        rate_per_s=number(record.get("rate_per_s")),
        figures=numbers(record.get("figures")),
    )
