"""A dimension as a table in the Python worker: read once from its stream, then looked up column by column.

Spark builds a broadcast anew in every micro-batch, since each is a query of its own. Here a worker, which
lives on, reads the stream once and keeps three sorted columns; a lookup is one binary search over a whole
Arrow column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # not in the stubs
from pyspark.sql.types import LongType, StructField, StructType

from bench.wire.frames import Ints
from spark_jobs.jetstream.fetch import fetch_range
from spark_jobs.jetstream.link import with_link
from spark_jobs.jetstream.options import SourceOptions
from spark_jobs.jetstream.parse import parse_json
from spark_jobs.jetstream.stream import read_state

_FIELDS = pa.schema([pa.field(name, pa.int64()) for name in ("seq", "k0", "value")])
FOUND = StructType([StructField("m", LongType()), StructField("v", LongType())])
#: Of this worker, by run and stream; those of an earlier run are dropped.
_tables: dict[str, tuple[str, Table]] = {}


@dataclass(frozen=True)
class Table:
    """Sorted by key; of a key that comes twice the row that came last."""

    keys: Ints
    seqs: Ints
    values: Ints

    def find(self, keys: pa.Array) -> pa.Array:
        """The row of each key, null where there is none."""
        wanted = keys.to_numpy(zero_copy_only=False)
        if not len(self.keys):
            return pa.nulls(len(wanted), pa.struct([("m", pa.int64()), ("v", pa.int64())]))
        at = np.searchsorted(self.keys, wanted, side="right") - 1
        missing = (at < 0) | (self.keys[at] != wanted)
        columns = [pa.array(column[at], mask=missing) for column in (self.seqs, self.values)]
        return pa.StructArray.from_arrays(columns, names=["m", "v"])


def read_table(options: SourceOptions) -> Table:
    """All that is in the stream now."""
    state = with_link(options, lambda link: read_state(link, options.stream))
    parts: list[list[Any]] = [[], [], []]
    for chunk in fetch_range(options, max(1, state.first_seq), state.next_seq):
        columns = parse_json(chunk.batch, len(chunk.seqs), _FIELDS).columns
        for part, name in zip(parts, ("k0", "seq", "value"), strict=True):
            part.append(columns[name].to_numpy(zero_copy_only=False))
    keys, seqs, values = (np.concatenate(part) if part else np.empty(0, np.int64) for part in parts)
    order = np.lexsort((seqs, keys))
    return Table(keys[order], seqs[order], values[order])


def table_of(run_id: str, options: SourceOptions) -> Table:
    held = _tables.get(options.stream)
    if held is None or held[0] != run_id:
        held = _tables[options.stream] = (run_id, read_table(options))
    return held[1]


def looked_up(key: Column, run_id: str, options: SourceOptions) -> Column:
    """A struct of the row's number and value, its fields null where the key is not in the table."""

    def find(keys: pa.Array) -> pa.Array:
        return table_of(run_id, options).find(keys)

    found: Column = arrow_udf(find, FOUND)(key)
    return found
