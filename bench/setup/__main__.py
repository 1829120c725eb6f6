"""`python3 -m bench.setup`: make everything that the tests and the bench need, and say little about it."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.setup import apt, cache, java, native, venv
from bench.setup.errors import SetupError
from bench.setup.go import ensure_go, required_version
from bench.setup.gotool import GoTool
from bench.setup.tools import OPTIONAL_TOOLS, TOOLS

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    # A CI that cancels sends SIGTERM: ended as by Ctrl-C, the compiler we started is ended too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(set_up(cache.cache_dir(os.environ, options.cache_dir), options.extra))
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m bench.setup", description=__doc__)
    parser.add_argument(
        "--cache-dir", metavar="DIR", help="where built binaries are kept; default: $JETLAG_CACHE"
    )
    parser.add_argument(
        "--with",
        dest="extra",
        action="append",
        default=[],
        choices=[tool.name for tool in OPTIONAL_TOOLS],
        help="build this tool too; may be repeated",
    )
    return parser.parse_args(arguments)


def set_up(cache_path: Path, extra: Sequence[str] = ()) -> str:
    """Bring everything up to date; returns the one line that says what is there."""
    venv.check_python(sys.version_info[:3])
    cache.prepare(cache_path)
    with cache.locked(cache_path, on_wait=lambda: print("set-up: waiting for another one", flush=True)):
        logs = cache_path / "logs"
        install = (lambda package: apt.install(package, logs)) if apt.available() else None
        runtime = java.ensure_java(os.environ, install)
        environment = ROOT / ".venv"
        venv.ensure_venv(ROOT, environment, logs, install)
        pip = [str(venv.venv_python(environment)), "-m", "pip"]
        native.ensure_library(os.environ, cache_path, pip)
        wanted = (*TOOLS, *(tool for tool in OPTIONAL_TOOLS if tool.name in extra))
        for tool in wanted:
            _ensure_tool(tool, cache_path, environment, pip)
    tools = ", ".join(tool.name for tool in wanted)
    return f"set-up: ready (Python {platform.python_version()}, Java {runtime.major}, {tools})"


def _ensure_tool(tool: GoTool, cache_path: Path, environment: Path, pip: list[str]) -> None:
    binary = tool.binary(cache_path)
    if not binary.exists():
        go = ensure_go(os.environ, required_version(tool.module_dir / "go.mod"), cache_path, pip)
        tool.build(go, cache_path, os.environ)
    _link(environment / "bin" / tool.name, binary)


def _link(link: Path, binary: Path) -> None:
    """Put the tool beside the environment's python, where the providers look, wherever the cache may be."""
    if link.is_symlink() and link.readlink() == binary:
        return
    partial = link.with_name(f".{link.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(binary)
    partial.replace(link)


if __name__ == "__main__":
    sys.exit(main())
