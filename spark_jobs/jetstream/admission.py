"""Whether a micro-batch is worth its fixed cost yet. Pure: no server, no Spark.

A micro-batch of nothing costs about 0.3 s of CPU (planning, two stages, the state's commit), and results
leave only when a window closes. So batches inside a window may wait until there is enough to read, as with
the options of the same names in Spark's Kafka source.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.jetstream.ticks import Offset


@dataclass
class Admission:
    """Without `least_rows` every batch is admitted at once."""

    least_rows: int | None
    longest_wait_s: float
    _admitted_s: float | None = None

    def holds(self, begin: Offset, end: Offset, now_s: float) -> bool:
        """A tick, and the batch after it which closes the windows, never wait; nor does the first batch."""
        if self.least_rows is None or self._admitted_s is None:
            return False
        if end.tick_ms != begin.tick_ms or begin.tick_ms != begin.floor_ms:
            return False
        return end.seq - begin.seq < self.least_rows and now_s - self._admitted_s < self.longest_wait_s

    def admitted(self, now_s: float) -> None:
        self._admitted_s = now_s
