"""The binaries of the embedded services."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from bench.infra.errors import InfraError
from bench.setup.cache import cache_dir
from bench.setup.gotool import GoTool
from bench.setup.tools import BENTO, TIDB_SERVER


def nats_server_binary() -> Path:
    return _beside_python("nats-server") or _missing("nats-server")


def tidb_server_binary() -> Path:
    return _built(TIDB_SERVER)


def bento_binary() -> Path:
    return _built(BENTO)


def _built(tool: GoTool) -> Path:
    cached = tool.binary(cache_dir(os.environ))
    return _beside_python(tool.name) or (cached if cached.exists() else _missing(tool.name))


def _beside_python(name: str) -> Path | None:
    """Set-up links what it built beside the environment's python, and wheels put their scripts there."""
    path = Path(sys.executable).with_name(name)
    return path if path.exists() else None


def _missing(name: str) -> Path:
    raise InfraError(f"the embedded {name} is not there: run `make setup`")


@cache
def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return f"sha256:{hashlib.file_digest(handle, 'sha256').hexdigest()}"
