"""Settings of the store beside each other: the same load, one setting changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.statestore.figures import Measured
from bench.statestore.outcome import Disk, ScenarioOutcome

_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"

#: What is changed of the usual settings, by name; the first is as they are.
TRIED: dict[str, dict[str, Any]] = {
    "as chosen, micro-batches of 2,000": {},
    "changelog checkpointing off": {"conf": (f"{_ROCKSDB}.changelogCheckpointing.enabled=false",)},
    "keys counted (trackTotalNumberOfRows)": {"conf": (f"{_ROCKSDB}.trackTotalNumberOfRows=true",)},
    "memory bounded to 64 MB": {
        "conf": (f"{_ROCKSDB}.boundedMemoryUsage=true", f"{_ROCKSDB}.maxMemoryUsageMB=64")
    },
    "micro-batches of 500 messages": {"max_messages": 500},
    "micro-batches of 5,000 messages": {"max_messages": 5_000},
}


@dataclass(frozen=True)
class Tuned:
    name: str
    conf: tuple[str, ...]
    measured: Measured
    disk: Disk
    #: Resident, of all of Spark's processes, at the end.
    memory_bytes: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def tuned(outcome: ScenarioOutcome) -> Tuned:
    if outcome.measured is None:
        raise ValueError(f"{outcome.name}: too few batches to measure anything")
    settings = outcome.settings
    return Tuned(
        outcome.name, tuple(settings["conf"]), outcome.measured, outcome.disk, settings["memory_bytes"]
    )
