"""The set-up's reading of versions, logs and settings."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bench.setup import cache, go, gotool, java, tools, venv
from bench.setup.command import reason
from bench.setup.errors import SetupError
from bench.setup.progress import Progress, format_elapsed


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("no such file", None),
        ("", None),
    ],
)
def test_java_versions(output: str, major: int | None) -> None:
    """Java 8 read as 1, or 21 not read at all, would refuse a good machine or accept a bad one."""
    assert java.parse_major(output) == major


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.24 darwin/arm64", (1, 24)),
        ("go version go1.27rc1 linux/amd64", (1, 27)),
        ("go version devel linux/amd64", None),
        ("", None),
    ],
)
def test_go_versions(output: str, version: tuple[int, ...] | None) -> None:
    """A version compared as text would put 1.9 above 1.24."""
    assert go.parse_version(output) == version


def test_go_mod_names_its_own_minimum() -> None:
    """A toolchain that is too old must be replaced before the build, not fail in the middle of it."""
    assert go.required_version(tools.TIDB_SERVER.module_dir / "go.mod") >= (1, 24)


def test_old_pythons_are_refused() -> None:
    """An old Python would fail much later, on syntax, with a traceback."""
    venv.check_python((3, 11, 0))
    venv.check_python((3, 14, 1))
    with pytest.raises(SetupError, match=r"3\.11\+ is needed, this is 3\.9\.2"):
        venv.check_python((3, 9, 2))


@pytest.mark.parametrize(
    ("environ", "option", "expected"),
    [
        ({"JETLAG_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/c", "/c"),
        ({"JETLAG_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, None, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, None, "/b/jetlag"),
        ({"XDG_CACHE_HOME": "relative"}, None, str(Path.home() / ".cache/jetlag")),
        ({}, None, str(Path.home() / ".cache/jetlag")),
    ],
)
def test_cache_folder(environ: dict[str, str], option: str | None, expected: str) -> None:
    """A cache in the wrong place is a five-minute build on every run."""
    assert cache.cache_dir(environ, option) == Path(expected)


def test_an_unwritable_cache_is_one_line(tmp_path: Path) -> None:
    """A read-only home would otherwise end in a traceback."""
    blocker = tmp_path / "file"
    blocker.touch()
    with pytest.raises(SetupError, match="cannot be written"):
        cache.prepare(blocker / "cache")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("pkg/a\nwrite /tmp/x: no space left on device\npkg/b\n", "the disk is full"),
        ("note\nERROR: no matching distribution\nhint: try later\n", "ERROR: no matching distribution"),
        ("go: downloading a v1\nmain.go:1: undefined: x\ngo: downloading b v1\n", "main.go:1: undefined: x"),
        ("", "it gave no output"),
    ],
)
def test_the_reason_of_a_failure(output: str, expected: str) -> None:
    """The one line that the user sees must hold the cause."""
    assert reason(output) == expected


def test_packages_are_counted_without_the_chatter() -> None:
    """Progress beyond 100 % looks like a hang that will never end."""
    assert gotool.count_packages("go: downloading a v1\nruntime\n# a/b\na/b\n\na/c\n") == 3


def test_elapsed_time_is_readable() -> None:
    """Seconds alone do not tell a build of five minutes from a hang."""
    assert [format_elapsed(s) for s in (0.4, 59.9, 61, 600)] == ["0 s", "59 s", "1 min 01 s", "10 min 00 s"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_fits_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log full of spinner frames cannot be read, and a silent terminal looks like a hang."""
    now_s = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    plain, terminal = io.StringIO(), Terminal()
    reporters = Progress("building", plain), Progress("building", terminal)
    for _ in range(450):
        for reporter in reporters:
            reporter.tick("3 of 9 packages")
        now_s += 0.1
    for reporter in reporters:
        reporter.done()
    assert plain.getvalue().splitlines() == [f"building: 3 of 9 packages, {s} s" for s in (20, 40)]
    assert "\n" not in terminal.getvalue()
    assert terminal.getvalue().count("\r") > 50
