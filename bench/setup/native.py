"""Compiles bench/wire/native/*.c by the C compiler on PATH, or by the one inside the PyPI wheel ziglang."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.setup.command import run_logged
from bench.setup.errors import SetupError
from bench.setup.wheel import install_wheel
from bench.wire.native import library

FOLDER = Path(library.__file__).parent
FLAGS = ("-O3", "-shared", "-fPIC", "-std=c11", "-Wall", "-Wextra")
WHEEL = "ziglang"
WHEEL_VERSION = "0.17.0"


def ensure_library(environ: Mapping[str, str], cache: Path, pip: list[str], folder: Path = FOLDER) -> Path:
    """The library beside its sources; compiled unless it is there."""
    target = folder / library.file_name()
    if target.is_file():
        return target
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    command = [*(_compiler(environ) or _wheel(cache, pip)), *FLAGS, "-o", str(partial)]
    command += [str(folder / source) for source in library.SOURCES]
    env = {**environ, "ZIG_GLOBAL_CACHE_DIR": str(cache / "zig"), "ZIG_LOCAL_CACHE_DIR": str(cache / "zig")}
    try:
        run_logged(command, what="compiling bench/wire/native", log=cache / "logs" / "native.log", env=env)
        for old in folder.glob("jetlag-*.so"):
            old.unlink()
        partial.replace(target)
    except OSError as error:
        raise SetupError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _compiler(environ: Mapping[str, str]) -> list[str] | None:
    """One that works: on some machines cc is there, but its headers are not."""
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name, path=environ.get("PATH"))
        if path is not None and _works(path, environ):
            return [path]
    return None


def _works(path: str, environ: Mapping[str, str]) -> bool:
    command = [path, "-fsyntax-only", "-x", "c", "-"]
    probe = "#include <stdint.h>\n#include <string.h>\nint main(void) { return (int)strlen(\"\"); }\n"
    try:
        done = subprocess.run(command, input=probe, text=True, capture_output=True, timeout=60, env=environ)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _wheel(cache: Path, pip: list[str]) -> list[str]:
    target = cache / f"{WHEEL}-{WHEEL_VERSION}"
    if not target.is_dir():
        what = f"fetching a C compiler ({WHEEL} {WHEEL_VERSION}; none on PATH works)"
        install_wheel(f"{WHEEL}=={WHEEL_VERSION}", target, pip, what, cache / "logs" / f"{WHEEL}.log")
    zig = target / "ziglang" / "zig"
    if not zig.is_file():
        raise SetupError(f"{zig} is not there: install a C compiler ({sys.platform}, {platform.machine()})")
    return [str(zig), "cc"]
