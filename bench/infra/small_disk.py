"""A disk that can be filled: a small tmpfs, filled by a ballast file and freed by removing it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

SIZE_BYTES = 256 * 1024 * 1024
_BALLAST = "ballast"
_CHUNK = b"\0" * (1 << 20)
_TIMEOUT_S = 10.0


def may_mount() -> bool:
    """Tried out: being root is not enough in a container."""
    with tempfile.TemporaryDirectory(prefix="jetlag-mount-") as folder:
        if _mount(Path(folder), 1 << 20) != 0:
            return False
        return subprocess.run(unmount_command(Path(folder)), capture_output=True).returncode == 0


def mount_small(folder: Path, size_bytes: int = SIZE_BYTES) -> None:
    status = _mount(folder, size_bytes)
    if status != 0:
        raise OSError(f"mount of a small disk ended with status {status}")


def unmount_command(folder: Path) -> list[str]:
    """Lazily: a process that has yet to close its files must not keep the mount."""
    return ["umount", "-l", str(folder)]


def _mount(folder: Path, size_bytes: int) -> int:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=0700", "jetlag", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S).returncode
    except (OSError, subprocess.TimeoutExpired):
        return -1


def fill(folder: Path) -> int:
    """Until nothing more fits; returns how many bytes that took."""
    written = 0
    descriptor = os.open(folder / _BALLAST, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for chunk in (_CHUNK, _CHUNK[:4096]):
            while True:
                try:
                    written += os.write(descriptor, chunk)
                except OSError:
                    break
    finally:
        os.close(descriptor)
    return written


def free(folder: Path) -> bool:
    """Whether there was a ballast to remove."""
    ballast = folder / _BALLAST
    there = ballast.exists()
    ballast.unlink(missing_ok=True)
    return there
