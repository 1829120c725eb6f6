"""What a reader of ranges hands on at a time."""

from __future__ import annotations

from dataclasses import dataclass

from bench.wire.batch import Batch
from bench.wire.frames import Ints
from bench.wire.pull import stored_ns

#: The server cuts off a client with more than 64 MB waiting for it; two requests are in flight.
REQUEST_BYTES = 16 * 1024 * 1024
#: Parsing has a cost per chunk, so readers wait a little (option lingerMs) for a larger one; not for more
#: than stays in the cache, nor when all that was asked for is here.
CHUNK_BYTES = 2 * 1024 * 1024


@dataclass
class Chunk:
    """Messages 0 to len(seqs) - 1 of `batch`, in stream order; valid until the next one is asked for."""

    batch: Batch
    seqs: Ints

    def stored_us(self) -> Ints:
        stamps: Ints = stored_ns(self.batch)[: len(self.seqs)] // 1000
        return stamps
