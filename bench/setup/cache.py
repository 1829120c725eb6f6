"""The user's cache folder: built binaries, fetched toolchains, build logs, and the lock that guards them."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.setup.errors import SetupError


def cache_dir(environ: Mapping[str, str], option: str | None = None) -> Path:
    """The option wins over JETLAG_CACHE, which wins over XDG_CACHE_HOME and ~/.cache."""
    chosen = option or environ.get("JETLAG_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    xdg = environ.get("XDG_CACHE_HOME")
    # The XDG specification says that a relative path is to be ignored.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path("~/.cache").expanduser()
    return base / "jetlag"


def prepare(cache: Path) -> None:
    """Make the cache's folders and prove that they can be written to."""
    try:
        for name in ("bin", "logs"):
            (cache / name).mkdir(parents=True, exist_ok=True)
        # The mode bits lie on a read-only file system: only a real file proves that we may write.
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        raise SetupError(f"the cache folder {cache} cannot be written: {error.strerror or error}") from error


@contextmanager
def locked(cache: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the cache's lock; the kernel lets go of it when we die, so a stale lock cannot exist."""
    with (cache / "setup.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
