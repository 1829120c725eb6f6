"""Installs Debian packages where that is at hand: apt-get is there and we are root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bench.setup.command import run_logged


def available() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(package: str, log_dir: Path) -> None:
    """Raises SetupError with apt's own words when the package cannot be had."""
    # Without noninteractive a package that asks a question would wait for stdin for ever in CI.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    log = log_dir / f"apt-{package}.log"
    run_logged(["apt-get", "update", "-qq"], what="refreshing apt's package lists", log=log, env=env)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    run_logged(command, what=f"installing {package}", log=log, env=env)
