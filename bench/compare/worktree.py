"""Git revisions laid out in a temporary folder that goes away with us, also after kill -9."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.folders import FolderError
from bench.infra.leashed import Leashed

#: The tree as it stands, with what is not committed.
AS_IT_STANDS = "."
_ROOT = Path(__file__).parents[2]
#: git's own record of a worktree must go too, or `git worktree list` would show it for ever.
_REMOVE = 'for tree in "$@"; do git worktree remove --force "$tree"; done'


@contextmanager
def worktrees(revisions: Sequence[str], repository: Path = _ROOT) -> Iterator[list[Path]]:
    """One folder a revision; the same revision twice is laid out once."""
    commits = {one: _commit(one, repository) for one in revisions if one != AS_IT_STANDS}
    if not commits:
        yield [repository for _ in revisions]
        return
    leashed = Leashed("interleave")
    try:
        places = {commit: leashed.folder / commit[:12] for commit in commits.values()}
        enter_and_remove = f'cd "$1" && shift && {_REMOVE}'
        leashed.on_end(["sh", "-c", enter_and_remove, "sh", str(repository), *map(str, places.values())])
        for commit, place in places.items():
            _git(repository, "worktree", "add", "--detach", "--quiet", str(place), commit)
        yield [repository if one == AS_IT_STANDS else places[commits[one]] for one in revisions]
    finally:
        leashed.close()


def _commit(revision: str, repository: Path) -> str:
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")


def _git(repository: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FolderError(f"git {words[0]}: {error}") from None
    if done.returncode:
        told = done.stderr.strip().splitlines()
        revision = words[-1].removesuffix("^{commit}")
        raise FolderError(told[-1] if told else f"{revision}: no such git revision")
    return done.stdout.strip()
