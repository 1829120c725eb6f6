"""Compiling the wire's C: once, by a compiler that works, and never half."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
from pathlib import Path

import pytest

from bench.setup import native
from bench.setup.cache import prepare
from bench.setup.errors import SetupError

pytestmark = pytest.mark.infra
NO_PIP = ["no pip is to be run"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return Path(shutil.copytree(native.FOLDER, tmp_path / "native", ignore=shutil.ignore_patterns("*.so")))


def fake_compiler(where: Path, name: str, text: str) -> None:
    where.mkdir(exist_ok=True)
    script = where / name
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


@pytest.mark.skipif(native._compiler(os.environ) is None, reason="no C compiler on PATH")
def test_it_is_compiled_once_and_replaces_older_ones(folder: Path, tmp_path: Path) -> None:
    """Every start would compile, or the code of an older source would be loaded."""
    (folder / "jetlag-0123456789abcdef.so").touch()
    built = native.ensure_library(os.environ, tmp_path, NO_PIP, folder)
    assert ctypes.CDLL(str(built)).jetlag_scan
    assert [path.name for path in folder.glob("*.so")] == [built.name]
    assert native.ensure_library({"PATH": ""}, tmp_path, NO_PIP, folder) == built


def test_a_compiler_that_cannot_compile_is_passed_over(tmp_path: Path) -> None:
    """A machine with half a compiler would have none."""
    fake_compiler(tmp_path / "bin", "cc", "exit 1")
    fake_compiler(tmp_path / "bin", "clang", "exit 0")
    assert native._compiler({"PATH": str(tmp_path / "bin")}) == [str(tmp_path / "bin" / "clang")]


def test_a_failed_compilation_is_one_line_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    """Half a library would be loaded into every worker of Spark."""
    fake_compiler(
        tmp_path / "bin",
        "cc",
        'case "$*" in *-fsyntax-only*) exit 0;; esac; echo "scan.c:1: error: no"; exit 1',
    )
    with pytest.raises(SetupError, match=r"compiling bench/wire/native failed: scan.c:1: error: no"):
        native.ensure_library({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}, tmp_path, NO_PIP, folder)
    assert list(folder.glob("*.so")) == []
    assert list(folder.glob(".jetlag*")) == []
