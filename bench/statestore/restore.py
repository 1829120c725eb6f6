"""How long a store takes to come back: by its size, its partitions, and into how many stores it is cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from spark_jobs.statestore.names import Stores


@dataclass(frozen=True)
class Restore:
    stores: Stores
    partitions: int
    state_bytes: int
    #: The median over restarts: Spark's own load time of the stores, the slowest of them …
    restore_s: float
    #: … the first micro-batch after the restart, and one with as many messages later on.
    first_s: float
    later_s: float
    messages_per_s: float | None
    mb_per_s: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
