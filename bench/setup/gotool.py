"""A server or tool built once from the Go module proxy into the cache.

The key of a cached binary is what decides its contents as far as we choose them: go.mod, go.sum, the build
flags, our main package and the platform. The Go version is left out: an upgraded toolchain is no reason to
build for minutes.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.setup.command import run_logged
from bench.setup.errors import SetupError
from bench.setup.go import Go

BUILD_ENV = {
    "CGO_ENABLED": "0",  # static: the same binary runs in a FROM scratch image
    "GOTOOLCHAIN": "local",  # never fetch another toolchain behind the user's back
    "GOFLAGS": "-buildvcs=false",  # the module lies in our git tree, whose state is not the tool's
    "GOWORK": "off",  # a go.work in a parent folder would replace go.mod
}


@dataclass(frozen=True)
class GoTool:
    name: str
    package: str
    module_dir: Path
    variables: tuple[str, ...] = ()  # linker -X settings, "package.variable=value"

    @property
    def ldflags(self) -> str:
        return " ".join(["-s", "-w", *(f"-X {variable}" for variable in self.variables)])

    def key(self) -> str:
        digest = hashlib.sha256()
        # Our own main package, where there is one, decides what is linked in.
        sources = sorted(self.module_dir.glob("*.go"))
        for part in (self.module_dir / "go.mod", self.module_dir / "go.sum", *sources):
            digest.update(hashlib.sha256(part.read_bytes()).digest())
        settings = (
            self.package,
            self.ldflags,
            sorted(BUILD_ENV.items()),
            platform.system(),
            platform.machine(),
        )
        digest.update(repr(settings).encode())
        return digest.hexdigest()[:16]

    def binary(self, cache: Path) -> Path:
        """Where the built tool lies, or will lie."""
        return cache / "bin" / f"{self.name}-{self.key()}"

    def build(self, go: Go, cache: Path, environ: Mapping[str, str]) -> Path:
        """Build into the cache; the caller holds the cache's lock."""
        env = {**environ, **BUILD_ENV}
        log_dir = cache / "logs"
        listing = run_logged(
            [str(go.path), "list", "-deps", self.package],
            what=f"fetching the sources of {self.name}",
            log=log_dir / f"{self.name}-sources.log",
            env=env,
            cwd=self.module_dir,
            detail=lambda output: f"{output.count('go: downloading ')} modules",
        )
        total = count_packages(listing)
        target = self.binary(cache)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            run_logged(
                self._command(go, partial),
                what=f"building {self.name} (once, into {cache})",
                log=log_dir / f"{self.name}-build.log",
                env=env,
                cwd=self.module_dir,
                detail=lambda output: f"{count_packages(output)} of {total} packages",
            )
            partial.replace(target)
        except OSError as error:
            why = error.strerror or error
            raise SetupError(f"{self.name} cannot be put into {target.parent}: {why}") from error
        finally:
            partial.unlink(missing_ok=True)
        return target

    def _command(self, go: Go, output: Path) -> list[str]:
        flags = ["-v", "-trimpath", "-ldflags", self.ldflags, "-o", str(output)]
        return [str(go.path), "build", *flags, self.package]


def count_packages(output: str) -> int:
    """Import paths, one a line; what the go command says beside them starts with `go: ` or `# `."""
    lines = (line.strip() for line in output.splitlines())
    return sum(1 for line in lines if line and " " not in line)
