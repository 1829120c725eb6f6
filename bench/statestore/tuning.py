"""Settings of the store beside each other: the same load, one setting changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.statestore.figures import Measured
from bench.statestore.outcome import Disk


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
