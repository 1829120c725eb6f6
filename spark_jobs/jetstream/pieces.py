"""Pieces of a buffer as an Arrow column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bench.wire.frames import Ints


def cut(buffer: bytearray, starts: Ints, ends: Ints, kind: pa.DataType) -> pa.Array:
    """buffer[starts[i]:ends[i]] for each i, as strings or binary: one copy, made by Arrow.

    Gaps and pieces are one array over the buffer, of which every second is taken.
    """
    count = len(starts)
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0] = starts[0]
    offsets[2:-1:2] = ends[:-1]
    offsets[1::2] = starts
    offsets[-1] = ends[-1]
    pieces = pa.Array.from_buffers(
        kind, 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(memoryview(buffer))]
    )
    return pieces.take(pa.array(np.arange(1, 2 * count, 2)))
