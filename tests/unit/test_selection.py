"""What `-m` leaves out is not read; what it may choose is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from hypothesis import given
from hypothesis import strategies as st

from bench.selection import LIVE, leaves_out_unit_tests

#: All that unit tests have.
UNIT = ("bench", "fuzz")


@pytest.mark.parametrize(
    ("expression", "left_out"),
    [
        ("caseA", True),
        ("caseC or caseD", True),
        ("(caseC or caseD) and not bench", True),
        ("statestore and not bench", True),
        ("", False),
        ("not bench", False),
        ("not caseA", False),
        ("not (caseA or caseB)", False),
        ("caseA or bench", False),
        ("caseA or not (caseB)", False),
        ("fuzz", False),
        ("caseAB", False),
    ],
)
def test_only_what_is_sure_is_left_out(expression, left_out):
    """Unit tests that were asked for would silently not run; or each case would wait until all are read."""
    assert leaves_out_unit_tests(expression) is left_out


words = st.lists(st.sampled_from([*LIVE[:3], *UNIT, "or", "and", "not", "(", ")"]), min_size=1, max_size=9)


@given(words)
def test_no_unit_test_that_is_asked_for_is_left_out(parts):
    """A way to say it that we did not think of would leave unit tests out."""
    expression = " ".join(parts)
    try:
        chosen = Expression.compile(expression)
    except SyntaxError:
        return
    if leaves_out_unit_tests(expression):
        for marks in (set(), {"bench"}, {"fuzz"}, set(UNIT)):
            assert not chosen.evaluate(lambda name, marks=marks, **_: name in marks)


def test_no_unit_test_has_the_marker_of_a_live_one():
    """It would never run."""
    here = Path(__file__).parent
    used = {
        name
        for path in here.glob("test_*.py")
        for name in re.findall(r"pytest\.mark\.(\w+)", path.read_text(encoding="utf-8"))
    }
    assert used & set(LIVE) == set()
    assert set(UNIT) <= used
