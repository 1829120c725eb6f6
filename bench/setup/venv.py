"""The virtual environment `.venv` with the dependencies pinned in pyproject.toml."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from bench.setup.command import run_logged
from bench.setup.errors import SetupError

REQUIRED_PYTHON = (3, 11)
STAMP_NAME = "jetlag-setup.stamp"


def check_python(version: tuple[int, ...]) -> None:
    if tuple(version[:2]) < REQUIRED_PYTHON:
        have = ".".join(map(str, version[:3]))
        need = ".".join(map(str, REQUIRED_PYTHON))
        raise SetupError(f"Python {need}+ is needed, this is {have}: try `make setup PYTHON=python3.12`")


def venv_python(venv: Path) -> Path:
    return venv / "bin" / "python"


def stamp_key(pyproject: Path, version: tuple[int, ...]) -> str:
    """What an environment depends on: the pins, the interpreter, and where the editable source lies."""
    digest = hashlib.sha256(pyproject.read_bytes())
    digest.update(repr((tuple(version[:2]), str(pyproject.absolute()))).encode())
    return digest.hexdigest()


def is_current(venv: Path, key: str) -> bool:
    stamp = venv / STAMP_NAME
    # An interpreter removed since (a system upgrade) leaves a dangling link: exists() follows it.
    return venv_python(venv).exists() and stamp.is_file() and stamp.read_text().strip() == key


def ensure_venv(root: Path, venv: Path, log_dir: Path, install_package: Callable[[str], None] | None) -> bool:
    """Make the environment what pyproject.toml says; returns whether there was anything to do."""
    key = stamp_key(root / "pyproject.toml", sys.version_info[:3])
    if is_current(venv, key):
        return False
    # Should the install break half-way, the old stamp must not vouch for what is left.
    (venv / STAMP_NAME).unlink(missing_ok=True)
    if not venv_python(venv).exists():
        _create(venv, log_dir, install_package)
    command = [str(venv_python(venv)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run_logged(
        [*command, "--editable", f"{root}[dev]"],
        what="installing the Python dependencies into .venv",
        log=log_dir / "pip.log",
    )
    (venv / STAMP_NAME).write_text(key + "\n")
    return True


def _create(venv: Path, log_dir: Path, install_package: Callable[[str], None] | None) -> None:
    # Debian splits ensurepip off: `python3 -m venv` would then make an environment without pip.
    if importlib.util.find_spec("ensurepip") is None:
        if install_package is None:
            raise SetupError("this Python has no ensurepip: apt-get install python3-venv, or the like")
        install_package("python3-venv")
    run_logged(
        [sys.executable, "-m", "venv", "--clear", str(venv)], what="creating .venv", log=log_dir / "venv.log"
    )
