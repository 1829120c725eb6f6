"""Runs one long command with its output in a log file, and says in one line why it failed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.setup.errors import SetupError
from bench.setup.progress import Progress

POLL_S = 0.1


def run_logged(
    command: Sequence[str],
    *,
    what: str,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    detail: Callable[[str], str] = lambda _output: "",
) -> str:
    """Run to the end, showing progress; returns the output. `detail` puts the output so far into words."""
    progress = Progress(what)
    try:
        with log.open("w+", errors="replace") as output:
            code = _watch(command, output.fileno(), log, env, cwd, progress, detail)
    except OSError as error:
        raise SetupError(f"{what} failed: {error.strerror or error} ({error.filename or log})") from error
    finally:
        progress.done()
    text = _read(log)
    if code != 0:
        raise SetupError(f"{what} failed: {reason(text)} (full log: {log})")
    return text


def _watch(
    command: Sequence[str],
    output_fd: int,
    log: Path,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    progress: Progress,
    detail: Callable[[str], str],
) -> int:
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output_fd, stderr=subprocess.STDOUT, env=env, cwd=cwd
    )
    try:
        while (code := process.poll()) is None:
            progress.tick(detail(_read(log)))
            time.sleep(POLL_S)
        return code
    finally:
        # An interrupted set-up must not leave a compiler eating both cores.
        if process.poll() is None:
            process.terminate()
            process.wait()


def _read(log: Path) -> str:
    return log.read_text(errors="replace")


def reason(output: str) -> str:
    """The line of a failed command's output that says most: disk full, else an error, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if "no space left on device" in line.lower():
            return "the disk is full"
    errors = [line for line in lines if line.lower().startswith(("error:", "e: ", "fatal:"))]
    candidates = errors or [line for line in lines if not line.startswith("go: downloading")]
    return candidates[-1][:300] if candidates else "it gave no output"
