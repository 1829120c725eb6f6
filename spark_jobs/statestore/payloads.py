"""Payloads: slices of one random text, made once; hard to compress, and different from task to task."""

from __future__ import annotations

import base64
import random
from functools import cache

#: So large that two slices near each other in time hardly overlap: a compressor would find the repetition.
_POOL_BYTES = 12 << 20
#: Knuth's; neighbours in the order of tasks lie far apart in the pool.
_SPREAD = 2_654_435_761


@cache
def _pool(seed: int) -> str:
    """Letters, digits, + and /: three bytes of four are left after the best compression."""
    return base64.b64encode(random.Random(seed).randbytes(_POOL_BYTES)).decode()


def payload(size: int, number: int, task: int, seed: int = 0) -> str:
    pool = _pool(seed)
    if size > len(pool) // 4:
        raise ValueError(f"a payload of {size} bytes is larger than {len(pool) // 4}")
    at = (number * 1_009 + task) * _SPREAD % (len(pool) - size)
    return pool[at : at + size]
