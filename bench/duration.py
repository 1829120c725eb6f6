"""Durations as people write them."""

from __future__ import annotations

import re

FORM = "wanted something like 90s, 20m, 12h or 1h30m"


def seconds_of(text: str) -> int:
    """`90s`, `20m`, `12h`, `1h30m`; a bare number is seconds."""
    found = re.fullmatch(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s?)?", text)
    if not text or found is None:
        raise ValueError(FORM)
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds
