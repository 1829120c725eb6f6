"""Java 17 or newer, which Spark needs: found, installed where apt can, or asked for in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.setup.errors import SetupError

REQUIRED_MAJOR = 17
PACKAGES = ("openjdk-17-jre-headless", "default-jre-headless")  # the second: newer Debians have no 17


@dataclass(frozen=True)
class Java:
    path: Path
    major: int


def parse_major(version_output: str) -> int | None:
    """The major version in `java -version`'s output; 8 and older call themselves 1.8, 1.7…"""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', version_output)
    if match is None:
        return None
    first = int(match[1])
    return int(match[2]) if first == 1 and match[2] else first


def find_java(environ: Mapping[str, str]) -> Java | None:
    """JAVA_HOME's java, as Spark would take it, else the one on PATH; None if there is none that runs."""
    home = environ.get("JAVA_HOME")
    located = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=environ.get("PATH"))
    if located is None:
        return None
    try:
        result = subprocess.run(
            [located, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    major = parse_major(result.stderr + result.stdout)
    return Java(Path(located), major) if major is not None else None


def ensure_java(environ: Mapping[str, str], install: Callable[[str], None] | None) -> Java:
    """`install` puts one package in place; None where that is not possible."""
    found = find_java(environ)
    if found is not None and found.major >= REQUIRED_MAJOR:
        return found
    if environ.get("JAVA_HOME"):
        # A package on PATH would not help: Spark follows JAVA_HOME.
        state = f"is Java {found.major}" if found else "has no working bin/java"
        home = environ["JAVA_HOME"]
        raise SetupError(f"JAVA_HOME={home} {state}; point it at Java {REQUIRED_MAJOR}+ or unset it")
    for package in PACKAGES if install else ():
        assert install is not None
        try:
            install(package)
        except SetupError:
            continue
        found = find_java(environ)
        if found is not None and found.major >= REQUIRED_MAJOR:
            return found
    have = f"Java {found.major} is too old" if found else "Java is missing"
    raise SetupError(
        f"{have}: install Java {REQUIRED_MAJOR}+ (Debian/Ubuntu: apt-get install openjdk-17-jre-headless; "
        "macOS: brew install openjdk@17), then run this again"
    )
