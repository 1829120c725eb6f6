"""Two revisions or two settings, run turn about on one machine: what drifts, drifts for both."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from bench import exit_codes
from bench.compare.worktree import worktrees
from bench.folders import FolderError
from bench.report.folder import is_run_folder
from bench.runfiles import LATEST

#: What options can change: they differ on purpose where the two sides have options of their own.
SETTINGS = ("load", "transport", "windows", "engine", "settings", "infra")

#: The harness ran: passed, failed, invalid, and the two that a --baseline of its own gives.
_RAN = (0, 1, exit_codes.INVALID, exit_codes.REGRESSION, exit_codes.NO_BASELINE)
#: These are ours to give: two turns of one name would overwrite each other.
_OURS = ("--reports-dir", "--run-id")
_END_TIMEOUT_S = 90.0
_LOG_LINES = 12
_LIBC = ctypes.CDLL(None)  # loaded before any fork: loading after it can deadlock
_PR_SET_PDEATHSIG = 1

Say = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    name: str
    revision: str
    options: Sequence[str]

    def __str__(self) -> str:
        return " ".join([self.name, f"({self.revision})", *self.options])


def interleaved(
    sides: Sequence[Side], turns: int, words: Sequence[str], folder: Path, say: Say
) -> tuple[list[Path], list[Path]]:
    """Runs everything into `folder`; returns the run folders of each side."""
    _check(sides, turns, words)
    folder = folder.resolve()  # the turns run elsewhere
    for side in sides:
        (folder / side.name).mkdir(parents=True, exist_ok=True)
    say(f"{2 * turns} turns into {folder}")
    order = [side for turn in range(turns) for side in (sides if turn % 2 == 0 else sides[::-1])]
    began = time.monotonic()
    with _terminated_as_interrupted(), worktrees([side.revision for side in sides]) as roots:
        root_of = dict(zip((side.name for side in sides), roots, strict=True))
        for done, side in enumerate(order):
            say(f"turn {done + 1} of {len(order)}: {side}{_left(began, done, len(order))}")
            _turn(side, root_of[side.name], words, folder, done + 1)
    base, new = (_runs(folder / side.name) for side in sides)
    return base, new


def _check(sides: Sequence[Side], turns: int, words: Sequence[str]) -> None:
    if not 1 <= turns <= 1000:
        raise FolderError(f"--interleave {turns}: must be 1 to 1000")
    given = [*words, *(word for side in sides for word in side.options)]
    for word in given:
        if word.partition("=")[0] in _OURS:
            raise FolderError(f"{word}: the turns have folders and names of their own")
    if not words:
        raise FolderError("--interleave needs words for pytest, e.g. -- -m caseA --profile=short")


def _left(began: float, done: int, turns: int) -> str:
    if not done:
        return ""
    left_s = (time.monotonic() - began) / done * (turns - done)
    return f"; about {left_s / 60:.0f} min left" if left_s >= 90 else f"; about {left_s:.0f} s left"


def _runs(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.name != LATEST and is_run_folder(one))


def _turn(side: Side, root: Path, words: Sequence[str], folder: Path, number: int) -> None:
    log = folder / f"turn-{number:03}-{side.name}.log"
    reports = folder / side.name
    before = len(_runs(reports))
    command = [sys.executable, "-m", "pytest", *words, *side.options, f"--reports-dir={reports}"]
    with log.open("wb") as output:
        # A session of its own: Ctrl-C reaches it once, from us, and not a second time from the terminal.
        child = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        try:
            code = child.wait()
        except KeyboardInterrupt:
            _end(child)
            raise
    if code not in _RAN or len(_runs(reports)) == before:
        tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LOG_LINES:]
        told = "\n".join(f"  {line}" for line in tail)
        raise FolderError(f"{side}: no run, pytest ended with {code} ({log}):\n{told}")


def _end_with_parent() -> None:
    """In the new child, before exec: should we be killed, the kernel interrupts it, and it cleans up."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGINT)
    try:
        child.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM (a cancelled CI job) cleans up as Ctrl-C does."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
