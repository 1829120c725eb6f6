"""What the compiled code offers, with types: addresses are of arrays that the caller keeps alive."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from bench.wire.native.library import library

_PLACE, _COUNT = ctypes.c_void_p, ctypes.c_int64


@dataclass(frozen=True)
class Calls:
    """As the C files say what each takes and gives."""

    frames: Callable[..., int]
    scan: Callable[..., int]
    gather: Callable[..., None]


@lru_cache(maxsize=1)
def calls() -> Calls | None:
    """None where there is no compiled code for this machine."""
    native = library()
    if native is None:
        return None
    frames, scan, gather = native.jetlag_frames, native.jetlag_scan, native.jetlag_gather
    frames.argtypes = [_PLACE, _COUNT, _COUNT, _COUNT, _PLACE, _PLACE, _PLACE, _PLACE]
    frames.restype = _COUNT
    scan.argtypes = [
        *(_PLACE, _PLACE, _PLACE, _COUNT),
        *(_PLACE, _PLACE, _PLACE, ctypes.c_int32),
        *(_PLACE, _PLACE),
    ]
    scan.restype = _COUNT
    gather.argtypes = [_PLACE, _PLACE, _PLACE, _COUNT, _PLACE, _PLACE]
    gather.restype = None
    return Calls(frames, scan, gather)


def address(array: NDArray[Any]) -> int:
    assert array.flags.c_contiguous
    return int(array.ctypes.data)
