"""Numbers read out of many messages as words of eight digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import numbers_before

relaxed = settings(deadline=None)  # a busy machine is no finding


@relaxed
@given(st.integers(1, 18), st.data())
def test_numbers_are_read_with_any_padding_and_neighbours(width: int, data: st.DataObject) -> None:
    """If this fails, seqs and stored times are misread: the ledger counts events that were never sent."""
    numbers = data.draw(st.lists(st.integers(0, 10**width - 1), min_size=1, max_size=20))
    pad = data.draw(st.sampled_from(["0", " "]))
    text, ends = "", []
    for number in numbers:
        # What stands before must not leak in, whatever it is.
        text += data.draw(st.text("09:.x", min_size=8, max_size=20)) + str(number).rjust(width, pad)
        ends.append(len(text))
    found = numbers_before(np.frombuffer(text.encode(), np.uint8), np.array(ends, np.int64), width)
    assert found.dtype == np.int64
    assert found.tolist() == numbers


@pytest.mark.parametrize("number", [10**18, 2**63 - 1])
def test_nineteen_digits_fit(number: int) -> None:
    """If this fails, no stored time after 2001 can be read."""
    data = np.frombuffer(b"........%d" % number, np.uint8)
    assert numbers_before(data, np.array([len(data)]), 19).tolist() == [number]


def test_no_rows_are_no_numbers() -> None:
    """If this fails, an empty batch stops a reader."""
    data = np.frombuffer(b"MSG events.1 1 5", np.uint8)
    assert numbers_before(data, np.empty(0, np.int64), 7).tolist() == []
