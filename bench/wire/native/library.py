"""The C files here, compiled, where they are for this machine: beside this file, or in the zip Spark shipped.

`make setup` compiles them (bench/setup/native.py). Whoever has no such library, or sets JETLAG_NATIVE=0, gets
the same from numpy and msgspec, at twice the CPU. Of the standard library alone: the set-up has nothing else.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import pkgutil
import platform
import tempfile
from functools import lru_cache
from pathlib import Path

SWITCH = "JETLAG_NATIVE"
SOURCES = ("frames.c", "scan.c")


def file_name() -> str:
    """Of the library that belongs to these sources and this kind of machine: another one is never loaded."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {platform.libc_ver()[0]}".encode())
    for source in SOURCES:
        digest.update(_part(source))
    return f"jetlag-{digest.hexdigest()[:16]}.so"


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return _load(file_name())
    except OSError:  # not compiled here, or not for this machine
        return None


def _load(name: str) -> ctypes.CDLL:
    beside = Path(__file__).with_name(name)
    if beside.is_file():
        return ctypes.CDLL(str(beside))
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(_part(name))
        file.flush()
        return ctypes.CDLL(file.name)  # stays mapped when the file is gone


def _part(name: str) -> bytes:
    data = pkgutil.get_data(__name__, name)
    if data is None:
        raise FileNotFoundError(name)
    return data
