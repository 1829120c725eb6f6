"""Rows of bytes that differ only in a few cells, filled column by column.

JSON allows blanks before a number and after a string, and NATS allows several blanks between
the words of a line: so every message of a run can have the same width, and a thousand of them
are made with a handful of numpy assignments instead of a thousand calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_BLANK, _QUOTE, _ZERO = 0x20, 0x22, 0x30
_GROUP = 4

#: The decimal digits of 0 to 9999, zero-padded: four bytes as one number, which numpy looks up ten times
#: faster than a row of four.
_DIGITS: NDArray[np.uint32] = (
    (np.arange(10**_GROUP)[:, None] // 10 ** np.arange(_GROUP - 1, -1, -1) % 10 + _ZERO)
    .astype(np.uint8)
    .view(np.uint32)[:, 0]
)


@dataclass(frozen=True)
class Cell:
    """A part of the row that changes from row to row."""

    name: str
    width: int


class RowTemplate:
    """Up to `capacity` rows; literals are written once, cells by the caller."""

    def __init__(self, parts: Sequence[bytes | Cell], capacity: int) -> None:
        self.capacity = capacity
        self._spans: dict[str, tuple[int, int]] = {}
        literal = b""
        for part in parts:
            if isinstance(part, Cell):
                self._spans[part.name] = (len(literal), len(literal) + part.width)
                literal += b" " * part.width
            else:
                literal += part
        self.width = len(literal)
        self._rows: Bytes = np.empty((capacity, self.width), np.uint8)
        self._rows[:] = np.frombuffer(literal, np.uint8)

    def offset(self, name: str) -> int:
        return self._spans[name][0]

    def cells(self, name: str, count: int) -> Bytes:
        first, last = self._spans[name]
        return self._rows[:count, first:last]

    def rows(self, count: int) -> memoryview:
        """The bytes of the first `count` rows, without a copy."""
        return self._rows[:count].reshape(-1).data


def digits(values: Ints, width: int) -> Bytes:
    """`values` in decimal, zero-padded to `width`."""
    groups = -(-width // _GROUP)
    words = np.empty((len(values), groups), np.uint32)
    rest = values
    for group in range(groups - 1, -1, -1):
        if group and len(rest) > 1 and (rest == rest[0]).all():
            # Neighbours share their leading digits: times nearly always, sequence numbers mostly.
            rest = rest[:1]
        quotient = rest // 10**_GROUP
        words[:, group] = _DIGITS[rest - quotient * 10**_GROUP]
        rest = quotient
    return words.view(np.uint8)[:, groups * _GROUP - width :]


def write_number(cells: Bytes, values: Ints, decimal: Bytes | None = None) -> None:
    """Write `values` right-aligned with blanks before, as JSON wants its numbers: no leading zero."""
    width = cells.shape[1]
    cells[:] = digits(values, width) if decimal is None else decimal
    low, high = int(values.min()), int(values.max())
    for column in range(width - 1):
        bound = 10 ** (width - 1 - column)
        if low >= bound:
            return
        if high < bound:
            cells[:, column] = _BLANK
        else:
            cells[values < bound, column] = _BLANK


def write_quoted_end(cells: Bytes, values: Ints, decimal: Bytes) -> None:
    """Write `values` left-aligned, then the quote that ends the string they stand in, then blanks."""
    width = decimal.shape[1]
    low, high = len(str(int(values.min()))), len(str(int(values.max())))
    for count in range(low, high + 1):
        if low == high:
            rows: slice | NDArray[np.bool_] = slice(None)
        else:
            rows = (values >= (10 ** (count - 1) if count > 1 else 0)) & (values < 10**count)
        cells[rows, :count] = decimal[rows, width - count :]
        cells[rows, count] = _QUOTE
        cells[rows, count + 1 :] = _BLANK


def text_table(texts: Sequence[str]) -> Bytes:
    """One row a text, left-aligned, blanks after."""
    width = max(len(text) for text in texts)
    joined = "".join(text.ljust(width) for text in texts).encode()
    return np.frombuffer(joined, np.uint8).reshape(len(texts), width)


def table_rows(table: Bytes, which: Ints) -> Bytes:
    """The given rows of a table, each copied as one item: four times as fast as byte by byte."""
    width = table.shape[1]
    return table.view(f"V{width}")[:, 0][which].view(np.uint8).reshape(-1, width)
