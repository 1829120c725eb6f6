"""Result rows of one run, by column: as TiDB holds them, or as an observer saw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.schedule import Ints

ResultRow = tuple[str, int, int, int, int, int, int]


@dataclass
class TableContent:
    keys: list[str]
    window_end_ms: Ints
    count: Ints
    sum_value: Ints
    seq: Ints
    producer_ts_ms: Ints
    #: When the row came out: db_insert_ts, or the observer's arrival (epoch µs).
    db_insert_us: Ints

    @classmethod
    def of_rows(cls, rows: list[ResultRow]) -> TableContent:
        numbers = np.array([row[1:] for row in rows], np.int64).reshape(len(rows), 6)
        return cls([row[0] for row in rows], *numbers.T)

    def __len__(self) -> int:
        return len(self.keys)
