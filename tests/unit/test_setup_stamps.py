"""What makes the set-up do its work again, and what must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.setup import java, venv
from bench.setup.errors import SetupError
from bench.setup.gotool import GoTool


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return tmp_path


@pytest.fixture
def tool(tmp_path: Path) -> GoTool:
    (tmp_path / "go.mod").write_text("module m\n\ngo 1.24\n")
    (tmp_path / "go.sum").write_text("")
    return GoTool("tool", "m/cmd/tool", tmp_path)


def finished_environment(project: Path) -> Path:
    environment = project / ".venv"
    (environment / "bin").mkdir(parents=True)
    venv.venv_python(environment).touch()
    key = venv.stamp_key(project / "pyproject.toml", (3, 11, 0))
    (environment / venv.STAMP_NAME).write_text(key + "\n")
    return environment


def test_a_finished_environment_is_kept(project: Path) -> None:
    """Every `make test` would install everything again."""
    environment = finished_environment(project)
    assert venv.is_current(environment, venv.stamp_key(project / "pyproject.toml", (3, 11, 9)))


def test_new_pins_and_new_pythons_are_noticed(project: Path) -> None:
    """Tests would run against dependencies that pyproject.toml no longer names."""
    environment = finished_environment(project)
    assert not venv.is_current(environment, venv.stamp_key(project / "pyproject.toml", (3, 12, 0)))
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert not venv.is_current(environment, venv.stamp_key(project / "pyproject.toml", (3, 11, 0)))


def test_a_vanished_interpreter_is_noticed(project: Path) -> None:
    """After a system upgrade the stamp would vouch for an environment that cannot run."""
    environment = finished_environment(project)
    venv.venv_python(environment).unlink()
    venv.venv_python(environment).symlink_to("/no/such/python")
    assert not venv.is_current(environment, venv.stamp_key(project / "pyproject.toml", (3, 11, 0)))


def test_a_cached_tool_follows_its_sources_and_flags(tool: GoTool, tmp_path: Path) -> None:
    """A changed go.mod must be built, and an unchanged one must not cost five minutes."""
    first = tool.binary(tmp_path)
    assert tool.binary(tmp_path) == first
    assert replace(tool, variables=("m.Version=1",)).binary(tmp_path) != first
    (tool.module_dir / "go.sum").write_text("x\n")
    second = tool.binary(tmp_path)
    assert second != first
    # The same bytes shifted from one file to the other are another module.
    (tool.module_dir / "go.mod").write_text("module m\n\ngo 1.24\nx\n")
    (tool.module_dir / "go.sum").write_text("")
    third = tool.binary(tmp_path)
    assert third not in (first, second)
    # A main package of ours decides what is linked in.
    (tool.module_dir / "main.go").write_text("package main\n")
    assert tool.binary(tmp_path) not in (first, second, third)


def test_java_is_installed_when_missing(tmp_path: Path) -> None:
    """A root user on Debian would have to find out the package's name alone."""
    asked: list[str] = []

    def install(package: str) -> None:
        asked.append(package)
        if package == java.PACKAGES[0]:
            raise SetupError("no such package")
        binary = tmp_path / "java"
        binary.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
        binary.chmod(0o755)

    assert java.ensure_java({"PATH": str(tmp_path)}, install).major == 21
    assert asked == list(java.PACKAGES)


def test_java_is_asked_for_where_it_cannot_be_installed(tmp_path: Path) -> None:
    """The user must be told what to type, not that something is missing."""
    with pytest.raises(SetupError, match="Java is missing: install Java 17") as caught:
        java.ensure_java({"PATH": str(tmp_path)}, None)
    assert "\n" not in str(caught.value)


def test_a_java_home_that_spark_cannot_use_is_named(tmp_path: Path) -> None:
    """Spark follows JAVA_HOME: a good java on PATH would not help, and its error would come much later."""
    with pytest.raises(SetupError, match="JAVA_HOME="):
        java.ensure_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"}, lambda _package: None)
