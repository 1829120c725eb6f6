"""The soak: a constant low rate for hours on three replicas on file, looked at all the time, judged by drift.

Checkpointed: every sample goes to soak.jsonl at once and result.json is written anew with it, so that a soak
that is cut off, by Ctrl-C or by kill -9, has reported all that it saw.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.gates import Gate, GateReport, evaluate
from bench.infra.nats_cluster import NatsCluster
from bench.transport.cell import Cell
from bench.transport.crew import Crew
from bench.transport.drift import Metrics, drift_gates, drift_metrics
from bench.transport.group import write_whole
from bench.transport.outcome import cluster_manifest
from bench.transport.soak_samples import SoakSample, SoakSampler, leader_changes
from bench.transport.streams import admin_of
from bench.verdict import RunInvalid

#: Kept of each stream; older messages go, so that disk reaches a level soon and stays there.
MAX_BYTES = 8 * 1024 * 1024
DEFAULT_RATE_PER_S = 50
SAMPLES = 240
LONGEST_INTERVAL_S = 30.0
GRACE_S = 60.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class SoakResult:
    cell: Cell
    duration_s: float
    complete: bool
    report: GateReport
    metrics: Metrics
    folder: Path

    def as_dict(self) -> dict[str, Any]:
        return {
            "cell": asdict(self.cell),
            "duration_s": self.duration_s,
            "complete": self.complete,
            "metrics": self.metrics,
            "gates": self.report.as_dict(),
            "verdict": self.report.verdict.value,
        }


def soak_cell(duration_s: float, rate_per_s: int = DEFAULT_RATE_PER_S, size: int = 1024) -> Cell:
    """Three apps with a stream each, replicas 3, file, 2 publishers and 10 ordered subscribers an app."""
    return Cell(
        layout="per-app",
        storage="file",
        replicas=3,
        mode="async",
        size=size,
        groups=3,
        messages=max(2, int(duration_s * rate_per_s)),
        rate_per_s=rate_per_s,
    )


def run_soak(
    cluster: NatsCluster, cell: Cell, duration_s: float, folder: Path, say: Say, wide: bool
) -> SoakResult:
    folder.mkdir(parents=True)
    interval_s = min(LONGEST_INTERVAL_S, max(1.0, duration_s / SAMPLES))
    gates = drift_gates((cell.rate_per_s or 0) * cell.groups, disk=True, wide=wide)
    with admin_of(cluster) as admin:
        admin.make_all(cell, max_bytes=MAX_BYTES)
        with Crew(cell, cluster.endpoints(), duration_s + GRACE_S) as crew:
            sampler = SoakSampler(cluster, cell, crew, admin)
            if sampler.disk_bytes() is None:
                gates = drift_gates((cell.rate_per_s or 0) * cell.groups, disk=False, wide=wide)
            write_whole(folder / "manifest.json", cluster_manifest(cluster, cell, admin))
            book = _Book(cell, gates, folder, say)
            start_ns = crew.go()
            due_s = interval_s

            def look() -> None:
                nonlocal due_s
                t_s = (time.monotonic_ns() - start_ns) / 1e9
                if due_s <= t_s <= duration_s:  # what drains after the last message is no throughput
                    due_s += interval_s
                    book.add(sampler.take(t_s), duration_s)

            try:
                groups = crew.collect(look)
            except (KeyboardInterrupt, RunInvalid):
                book.close(None, book.covered_s())
                say(f"soak cut off after {book.covered_s():.0f} s: {folder / 'result.json'} tells of them")
                raise
            (folder / "server-errors.txt").write_text("\n".join(sampler.troubles()) + "\n")
            result = book.close(groups, duration_s)
        admin.delete_all(cell)
    return result


class _Book:
    """The samples so far, on disk at every moment."""

    def __init__(self, cell: Cell, gates: Sequence[Gate], folder: Path, say: Say) -> None:
        self._cell, self._gates, self._folder, self._say = cell, gates, folder, say
        self._samples: list[SoakSample] = []

    def covered_s(self) -> float:
        return self._samples[-1].t_s if self._samples else 0.0

    def add(self, sample: SoakSample, duration_s: float) -> None:
        self._samples.append(sample)
        with (self._folder / "soak.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(sample)) + "\n")
        self.close(None, sample.t_s)
        p99 = "-" if sample.p99_ms is None else f"{sample.p99_ms:.1f} ms"
        self._say(
            f"soak {sample.t_s:.0f}/{duration_s:.0f} s  acked {sample.acked:,}  p99 {p99}  "
            f"leader changes {len(leader_changes(self._samples))}  errors {sample.server_errors}"
        )

    def close(self, groups: Sequence[dict[str, Any]] | None, duration_s: float) -> SoakResult:
        """Judge what there is; without the groups' own account the ledger is open, the soak not complete."""
        metrics = {**drift_metrics(self._samples, self._cell.replicas), **_ledger(groups)}
        gates = [gate for gate in self._gates if groups is not None or gate.metric in metrics]
        report = evaluate(gates, metrics)
        result = SoakResult(self._cell, duration_s, groups is not None, report, metrics, self._folder)
        content = {**result.as_dict(), "leader_changes": leader_changes(self._samples)}
        write_whole(self._folder / "result.json", content)
        return result


def _ledger(groups: Sequence[dict[str, Any]] | None) -> Metrics:
    if groups is None:
        return {}
    readers = [reader for group in groups for reader in group["subscribers"]]
    writers = [writer for group in groups for writer in group["publishers"]]
    return {
        "acked": sum(writer["acked"] for writer in writers),
        "refused": sum(sum(writer["refused"].values()) for writer in writers),
        "unanswered": sum(writer["total"] - writer["acked"] for writer in writers),
        "recreated": sum(reader["recreated"] for reader in readers),
        **{
            name: sum(reader[name] for reader in readers)
            for name in ("received", "lost", "duplicates", "out_of_order", "unexpected")
        },
    }
