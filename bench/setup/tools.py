"""The tools that the set-up builds from Go modules."""

from __future__ import annotations

from pathlib import Path

from bench.setup.gotool import GoTool

_HERE = Path(__file__).parent

# The commit is between releases: its own source says "v8.4.0" and a placeholder, so the version we link in is
# that number with the commit's date and hash. Calling it a release would put a lie into every manifest.
_TIDB_COMMIT = "ec8b81b98edc"

TIDB_SERVER = GoTool(
    name="tidb-server",
    package="github.com/pingcap/tidb/cmd/tidb-server",
    module_dir=_HERE / "tidb",
    variables=(
        f"github.com/pingcap/tidb/pkg/parser/mysql.TiDBReleaseVersion=v8.4.0-20241125-g{_TIDB_COMMIT}",
        f"github.com/pingcap/tidb/pkg/util/versioninfo.TiDBGitHash={_TIDB_COMMIT}",
    ),
)

# Case E's sink path, and an engine of its own: only the components that our configurations use.
BENTO_VERSION = "v1.19.0"

BENTO = GoTool(
    name="bento",
    package=".",
    module_dir=_HERE / "bento",
    variables=(f"main.version={BENTO_VERSION}",),
)

# The peer that the driver is measured against: `nats bench`.
NATS_CLI = GoTool(
    name="nats",
    package="github.com/nats-io/natscli/nats",
    module_dir=_HERE / "natscli",
    variables=("main.version=v0.3.0",),
)

TOOLS: tuple[GoTool, ...] = (TIDB_SERVER, BENTO)
#: Built only when asked for by name (`--with nats`): most users never need them.
OPTIONAL_TOOLS: tuple[GoTool, ...] = (NATS_CLI,)
