"""Which tests a `-m` can mean."""

from __future__ import annotations

import re

#: Markers that no unit test has.
LIVE = (
    *(f"case{letter}" for letter in "ABCDEF"),
    *("transport", "source", "statestore", "joins", "soak"),
    *("sabotage", "recovery", "faults", "infra", "containers"),
)
_NAME = f"(?:{'|'.join(LIVE)})"
_LIVE_ONLY = re.compile(rf"{_NAME}(?: or {_NAME})*(?: and not \w+)*")


def leaves_out_unit_tests(expression: str) -> bool:
    """Whether `-m expression` is sure to choose none. False where it is not plain to see."""
    return _LIVE_ONLY.fullmatch(expression.replace("(", "").replace(")", "").strip()) is not None
