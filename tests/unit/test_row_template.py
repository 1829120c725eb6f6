"""Rows filled column by column, against Python's own formatting."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.row_template import Cell, RowTemplate, digits, text_table, write_number, write_quoted_end

relaxed = settings(deadline=None, max_examples=40)  # a busy machine is no finding


def numbers(width: int) -> st.SearchStrategy[list[int]]:
    """Numbers of up to `width` digits, the borders between lengths among them."""
    borders = [n for power in range(width) for n in (10**power - 1, 10**power)] + [10**width - 1]
    one = st.one_of(st.integers(0, 10**width - 1), st.sampled_from(borders))
    return st.lists(one, min_size=1, max_size=30)


def texts(cells: np.ndarray) -> list[str]:
    return [bytes(row).decode() for row in cells]


@relaxed
@given(st.integers(1, 18), st.data())
def test_digits_are_zero_padded(width: int, data: st.DataObject) -> None:
    """If this fails, reply subjects and message ids name other events."""
    values = data.draw(numbers(width))
    assert texts(digits(np.array(values), width)) == [f"{value:0{width}d}" for value in values]


@relaxed
@given(st.integers(1, 18), st.data(), st.booleans())
def test_numbers_are_right_aligned_without_leading_zeros(
    width: int, data: st.DataObject, given_digits: bool
) -> None:
    """If this fails, events are not JSON: a number with a leading zero is refused by every parser."""
    values = np.array(data.draw(numbers(width)))
    cells = np.full((len(values), width), ord("?"), np.uint8)
    write_number(cells, values, digits(values, width) if given_digits else None)
    assert texts(cells) == [f"{value:{width}d}" for value in values.tolist()]


@relaxed
@given(st.integers(1, 18), st.data())
def test_quoted_ends_leave_nothing_of_the_row_before(width: int, data: st.DataObject) -> None:
    """If this fails, a short number keeps digits of the longer one that stood in its row before."""
    values = np.array(data.draw(numbers(width)))
    cells = np.full((len(values), width + 1), ord("9"), np.uint8)
    write_quoted_end(cells, values, digits(values, width))
    assert texts(cells) == [f'{value}"'.ljust(width + 1) for value in values.tolist()]


@relaxed
@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12), min_size=1))
def test_texts_are_left_aligned(values: list[str]) -> None:
    """If this fails, keys or subjects run into each other."""
    width = max(map(len, values))
    assert texts(text_table(values)) == [value.ljust(width) for value in values]


def test_literals_stay_and_cells_change() -> None:
    """If this fails, a row carries what an earlier burst wrote, or its literals are overwritten."""
    template = RowTemplate([b'{"a":', Cell("a", 3), b',"b":"', Cell("b", 4), b"}"], capacity=5)
    assert template.width == len('{"a":') + 3 + len(',"b":"') + 4 + 1
    assert template.offset("b") == len('{"a":xxx,"b":"')
    for values in ([1, 22, 333, 4, 55], [7, 8], [999, 1, 10]):
        numbers_now = np.array(values)
        count = len(values)
        write_number(template.cells("a", count), numbers_now)
        write_quoted_end(template.cells("b", count), numbers_now, digits(numbers_now, 3))
        rows = bytes(template.rows(count))
        assert len(rows) == count * template.width
        cut = [rows[i : i + template.width] for i in range(0, len(rows), template.width)]
        assert [json.loads(row) for row in cut] == [{"a": value, "b": str(value)} for value in values]
