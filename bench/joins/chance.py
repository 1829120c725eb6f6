"""Chance that is none: a number for every (seed, salt, n), the same on every machine and in every order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.schedule import Ints
from bench.wire.frames import Flags

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mixed(numbers: Ints, seed: int, salt: int) -> NDArray[np.uint64]:
    """SplitMix64, which passes for random and costs a few multiplications."""
    start = np.uint64((seed * _GOLDEN + salt * 0xD1342543DE82EF95) & _MASK)
    with np.errstate(over="ignore"):  # to wrap round is the point
        z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def below(numbers: Ints, bound: int, seed: int, salt: int) -> Ints:
    """A whole number from 0 to bound − 1 for each."""
    return (_mixed(numbers, seed, salt) % np.uint64(bound)).astype(np.int64)


def happens(numbers: Ints, share: float, seed: int, salt: int) -> Flags:
    """Whether it happens to each, to `share` of them."""
    top = (_mixed(numbers, seed, salt) >> np.uint64(11)).astype(np.float64)
    flags: Flags = top * 2.0**-53 < share
    return flags
