"""The zip that executors import: spark_jobs, and the two packages of bench it shares."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

_PACKAGES = ("spark_jobs", "bench/contract", "bench/wire")
#: Compiled code goes along with its source, by which it is known whether it fits (native/library.py).
_KINDS = {".py", ".c", ".so"}


def write_package(target: Path) -> Path:
    """For `spark-submit --py-files`."""
    root = Path(__file__).resolve().parent.parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bench/__init__.py", "")
        for package in _PACKAGES:
            for path in sorted((root / package).rglob("*")):
                if path.suffix in _KINDS:
                    archive.write(path, path.relative_to(root))
    return target


def package_for_executors() -> Path | None:
    """None if this module was itself imported from such a zip: then Spark has shipped it."""
    if not Path(__file__).is_file():
        return None
    folder = tempfile.mkdtemp(prefix="jetlag-pyfiles-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return write_package(Path(folder) / "jetlag_spark.zip")
