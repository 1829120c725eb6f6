"""key → partition, by the one hash that every engine of the suite computes alike.

Python's hash() is salted per process, and Spark, Arroyo and RisingWave each have their own;
the first hex digit of md5(key) is the same in all of them.
"""

from __future__ import annotations

import hashlib

MAX_PARTITIONS = 16


def partition_of(key: str, partitions: int = MAX_PARTITIONS) -> int:
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise ValueError(f"partitions must be 1 to {MAX_PARTITIONS}, not {partitions}")
    first_digit = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()[0]
    return int(first_digit, 16) % partitions
