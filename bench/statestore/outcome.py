"""What a scenario came to: its figures, its ledger, what it took on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.gates import GateReport
from bench.infra.local_nats import disk_bytes
from bench.statestore.figures import Batch, Measured, measure, read_batches
from bench.statestore.ledger import Metrics, account, judge
from bench.statestore.load import Truth

#: What the engine that this load is taken from must write, over all its partitions.
GOAL_MB_PER_S = 30.0
#: Micro-batches in which the JVM compiles and the query starts its workers.
WARM_BATCHES = 3


@dataclass(frozen=True)
class Disk:
    """`logical` is every key and value that is in the store, once: the compacted size."""

    put_bytes: int
    logical_bytes: int
    checkpoint_bytes: int
    #: RocksDB's live table files.
    tables_bytes: int
    #: What RocksDB wrote, flushes and compactions together.
    written_bytes: int

    @property
    def disk_share(self) -> float | None:
        """What the checkpoint takes, against the compacted size."""
        return self.checkpoint_bytes / self.logical_bytes if self.logical_bytes else None

    @property
    def amplification(self) -> float | None:
        """What RocksDB wrote, against what it was given."""
        return self.written_bytes / self.put_bytes if self.put_bytes else None


@dataclass(frozen=True)
class ScenarioOutcome:
    name: str
    load: Mapping[str, Any]
    report: GateReport
    metrics: Metrics
    #: At full speed, from a backlog.
    measured: Measured | None
    #: By a schedule, at a part of that speed: latencies mean something here only.
    paced: Measured | None
    paced_per_s: float | None
    disk: Disk
    settings: Mapping[str, Any]
    #: Seconds since the first, MB/s and pause of each batch, for the picture.
    series: Sequence[tuple[float, float, float]] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["report"] = self.report.as_dict()
        return {"verdict": self.report.verdict.value, **plain}


def outcome_of(
    name: str,
    folder: Path,
    truth: Truth,
    endings: Sequence[Mapping[str, Any]],
    audit: Mapping[str, Any],
    load: Mapping[str, Any],
    settings: Mapping[str, Any],
    paced_from_ms: int | None = None,
    paced_per_s: float | None = None,
    grown_until_ms: int = 0,
) -> ScenarioOutcome:
    """Batches up to `grown_until_ms` only grew the state; those from `paced_from_ms` on were paced."""
    batches = read_batches(folder)
    metrics = account(truth, endings, audit)
    ours = [batch for batch in batches if batch.done_ms > grown_until_ms]
    full = [batch for batch in ours if paced_from_ms is None or batch.done_ms <= paced_from_ms]
    paced = [batch for batch in ours if paced_from_ms is not None and batch.done_ms > paced_from_ms]
    warm = WARM_BATCHES if not grown_until_ms else 1
    return ScenarioOutcome(
        name=name,
        load=load,
        report=judge(metrics),
        metrics=metrics,
        measured=measure(full, warm),
        paced=measure(paced, 1),
        paced_per_s=paced_per_s,
        disk=_disk(batches, folder, int(metrics["stored_bytes"] or 0)),
        settings=settings,
        series=_series(full),
    )


def _disk(batches: Sequence[Batch], folder: Path, logical_bytes: int) -> Disk:
    by = ("rocksdbTotalBytesWrittenByFlush", "rocksdbTotalBytesWrittenByCompaction")
    tables = [batch.state("rocksdbSstFileSize") for batch in batches]
    return Disk(
        put_bytes=sum(batch.bytes_put for batch in batches),
        logical_bytes=logical_bytes,
        checkpoint_bytes=disk_bytes(folder / "checkpoint"),
        tables_bytes=tables[-1] if tables else 0,
        written_bytes=sum(batch.state(name) for batch in batches for name in by),
    )


def _series(batches: Sequence[Batch]) -> list[tuple[float, float, float]]:
    busy = [batch for batch in batches if batch.messages]
    found = []
    for one, two in pairwise(busy):
        gap_s = max(1, two.done_ms - one.done_ms) / 1000
        found.append(((two.done_ms - busy[0].done_ms) / 1000, two.bytes_put / 1e6 / gap_s, gap_s))
    return found
