"""The set-up as its user meets it: the command, twice at once, and when a build fails."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bench.setup.cache import prepare
from bench.setup.errors import SetupError
from bench.setup.go import Go
from bench.setup.gotool import GoTool

pytestmark = pytest.mark.infra
ROOT = Path(__file__).resolve().parents[2]
LINK = ROOT / ".venv" / "bin" / "tidb-server"


def fake_go(folder: Path, build: str) -> Go:
    """A `go` that lists one package and builds with the shell text given; its -o value is in $output."""
    script = folder / "go"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = list ]; then echo m/cmd/tool; exit 0; fi\n'
        'while [ "$1" != -o ]; do shift; done\n'
        f"output=$2\n{build}\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return Go(script, (1, 24))


@pytest.fixture
def tool(tmp_path: Path) -> GoTool:
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module m\n\ngo 1.24\n")
    (module / "go.sum").write_text("")
    prepare(tmp_path)
    return GoTool("tool", "m/cmd/tool", module)


def test_a_built_tool_lands_in_the_cache(tool: GoTool, tmp_path: Path) -> None:
    """Later runs would not find what five minutes were spent on."""
    go = fake_go(tmp_path, 'echo built > "$output"')
    assert tool.build(go, tmp_path, os.environ).read_text() == "built\n"
    assert [path.name for path in (tmp_path / "bin").iterdir()] == [tool.binary(tmp_path).name]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("echo 'write x: no space left on device' >&2; exit 1", "the disk is full"),
        ("echo half > \"$output\"; echo 'main.go:1: undefined: x' >&2; exit 2", "undefined: x"),
        ("exit 0", "cannot be put into"),
    ],
)
def test_a_failed_build_is_one_line_and_leaves_no_binary(
    tool: GoTool, tmp_path: Path, build: str, message: str
) -> None:
    """Half a binary in the cache would be taken for a whole one for ever after."""
    with pytest.raises(SetupError, match=message) as caught:
        tool.build(fake_go(tmp_path, build), tmp_path, os.environ)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "bin").iterdir()) == []


def test_the_command_fails_in_one_line(tmp_path: Path) -> None:
    """A traceback tells the user nothing and looks like our bug."""
    blocker = tmp_path / "file"
    blocker.touch()
    command = [sys.executable, "-m", "bench.setup", "--cache-dir", str(blocker / "cache")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "cannot be written" in result.stderr


@pytest.mark.skipif(not LINK.is_symlink(), reason="this environment was not made by `make setup`")
def test_two_warm_set_ups_at_once_agree() -> None:
    """Two terminals that type `make test` together would break each other's environment."""
    cache = LINK.readlink().parent.parent
    command = [sys.executable, "-m", "bench.setup", "--cache-dir", str(cache)]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    for process in both:
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert output.splitlines()[-1].startswith("set-up: ready")
