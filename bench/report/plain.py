"""Values out of a JSON file that may be cut off, damaged or written by somebody else: never a crash."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")


def number(value: object) -> float | int | None:
    """A finite number; anything else, True and False too, is no measurement."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def mapping(value: object) -> Json:
    return {text(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def mappings(value: object, make: Callable[[Json], T]) -> tuple[T, ...]:
    return tuple(make(item) for item in items(value) if isinstance(item, dict))


def numbers(value: object) -> dict[str, float | int]:
    """The entries of a mapping that are numbers."""
    found = {key: number(item) for key, item in mapping(value).items()}
    return {key: item for key, item in found.items() if item is not None}
