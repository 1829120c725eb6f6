"""The rolling join by arbitrary state (transformWithState): the way that was not chosen, kept to be measured.

Its TTLs go by processing time only, so age is judged here; and it takes rows as a micro-batch brings them: a
status that comes in a later one than its reading is missed, where the stream-stream join waits for it by the
watermark. Needs protobuf, pandas and the RocksDB state store, which nothing else here does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own idiom
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

_OUT = "seq LONG, total LONG, m0 LONG"


class LastStatus(StatefulProcessor):
    """By device: its last status, and readings joined to it while it is good."""

    def __init__(self, ttl_us: int) -> None:
        self._ttl_us = ttl_us

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getValueState("last", "seq LONG, ts_us LONG, value LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        last = self._last.get()
        before = last
        for row in sorted(rows, key=lambda row: row.ts_us):
            if not row.is_fact:
                last = (row.seq, row.ts_us, row.value)
            elif last is not None and row.ts_us - last[1] <= self._ttl_us:
                yield Row(seq=row.seq, total=row.value + last[2], m0=last[0])
            else:
                yield Row(seq=row.seq, total=row.value, m0=None)
        if last is not None and last is not before:
            self._last.update(last)

    def close(self) -> None:
        pass


def joined_by_state(facts: DataFrame, statuses: DataFrame, ttl_us: int) -> DataFrame:
    columns = ("seq", "ts_us", "k0", "value")
    both = facts.select(*columns, F.lit(True).alias("is_fact")).unionAll(
        statuses.select(*columns, F.lit(False).alias("is_fact"))
    )
    grouped: Any = both.groupBy("k0")
    rows: DataFrame = grouped.transformWithState(LastStatus(ttl_us), _OUT, "Append", "None")
    return rows
