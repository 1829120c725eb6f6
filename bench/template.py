"""Files with `${NAME}` in them: the configurations and the SQL that engines get."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

_NAME = re.compile(r"\$\{([A-Z_]+)\}")


def fill(path: Path, values: Mapping[str, str], quote: Callable[[str], str]) -> str:
    """The file's text with the values in it; one that it asks for and nobody gave is a KeyError.

    `quote` makes a value fit for the place where the names stand: inside quotes in the file's language.
    """
    return _NAME.sub(lambda match: quote(values[match[1]]), path.read_text())
