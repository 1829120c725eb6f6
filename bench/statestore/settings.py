"""How the engine is run: layout of its store, partitions, time-outs, size of its micro-batches."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.statestore.names import Stores


@dataclass(frozen=True)
class ServerSettings:
    stores: Stores = "one"
    partitions: int = 1
    timeout_ms: int = 60_000
    max_messages: int = 5_000
    trigger_ms: int = 0
    conf: tuple[str, ...] = ()

    def words(self) -> list[str]:
        words = ["--stores", self.stores, "--partitions", str(self.partitions)]
        words += ["--timeout-ms", str(self.timeout_ms), "--max-messages", str(self.max_messages)]
        words += ["--trigger-ms", str(self.trigger_ms)]
        for pair in self.conf:
            words += ["--conf", pair]
        return words
