"""A batch of received messages: positions in a shared buffer, and when each arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.wire.frames import Bytes, Flags, FrameIndex, Ints


@dataclass
class Batch:
    """Messages that lie in `buffer`; valid until the connection receives again."""

    buffer: bytearray
    index: FrameIndex
    #: Monotonic ns at which the bytes that completed each message had been read.
    arrived_ns: Ints

    def __len__(self) -> int:
        return len(self.index)

    @property
    def data(self) -> Bytes:
        return np.frombuffer(self.buffer, np.uint8)

    @property
    def body_starts(self) -> Ints:
        return self.index.line_ends + 2

    @property
    def body_ends(self) -> Ints:
        return self.index.ends - 2

    def line(self, i: int) -> bytes:
        return bytes(self.buffer[self.index.starts[i] : self.index.line_ends[i]])

    def subject(self, i: int) -> str:
        return self.line(i).split(b" ", 2)[1].decode()

    def reply(self, i: int) -> bytes:
        """The reply subject of message i, or nothing."""
        tokens = self.line(i).split()
        sizes = 2 if tokens[0] == b"HMSG" else 1
        return tokens[3] if len(tokens) == 4 + sizes else b""

    def headers(self, i: int) -> bytes:
        start = self.index.line_ends[i] + 2
        return bytes(self.buffer[start : start + self.index.header_sizes.get(i, 0)])

    def is_status(self, i: int) -> bool:
        """Whether message i has a status in its first header line ("NATS/1.0 204 EOB"): the server's own."""
        return self.buffer.startswith(b"NATS/1.0 ", int(self.index.line_ends[i]) + 2)

    def payload(self, i: int) -> bytes:
        start = self.index.line_ends[i] + 2 + self.index.header_sizes.get(i, 0)
        return bytes(self.buffer[start : self.index.ends[i] - 2])

    def replies(self) -> list[bytes]:
        """The reply subjects of all messages."""
        return [self.reply(i) for i in range(len(self))] if self.index.header_sizes else self._plain_replies()

    def _plain_replies(self) -> list[bytes]:
        index = self.index
        lines = self._slices(index.starts, index.line_ends)
        return [words[3] if len(words) == 5 else b"" for words in map(bytes.split, lines)]

    def payloads(self) -> list[bytes]:
        """The payloads of all messages."""
        if self.index.header_sizes:
            return [self.payload(i) for i in range(len(self))]
        return self._slices(self.body_starts, self.body_ends)

    def frames(self) -> list[bytes]:
        """All messages, each from its line's first byte to the end of its body."""
        return self._slices(self.index.starts, self.index.ends)

    def _slices(self, starts: Ints, ends: Ints) -> list[bytes]:
        """Cut out of one copy: a slice of bytes is half the price of a slice of a bytearray."""
        if not len(starts):
            return []
        base = int(starts[0])
        copy = bytes(self.buffer[base : int(ends[-1])])
        bounds = zip((starts - base).tolist(), (ends - base).tolist(), strict=True)
        return [copy[start:end] for start, end in bounds]

    def part(self, begin: int, end: int) -> Batch:
        """Messages begin to end - 1."""
        index = self.index
        sizes = {i - begin: size for i, size in index.header_sizes.items() if begin <= i < end}
        cut = slice(begin, end)
        thinned = FrameIndex(
            index.starts[cut], index.line_ends[cut], index.ends[cut], sizes, index.control, index.consumed
        )
        return Batch(self.buffer, thinned, self.arrived_ns[cut])

    def without(self, dropped: list[int]) -> Batch:
        """The same batch less some messages (status replies, say)."""
        keep = np.ones(len(self), np.bool_)
        keep[dropped] = False
        index = self.index
        kept = np.cumsum(keep) - 1
        sizes = {int(kept[i]): size for i, size in index.header_sizes.items() if keep[i]}
        thinned = FrameIndex(
            index.starts[keep], index.line_ends[keep], index.ends[keep], sizes, index.control, index.consumed
        )
        return Batch(self.buffer, thinned, self.arrived_ns[keep])


def digits_to_ints(cells: Bytes) -> Ints:
    """Rows of decimal digits, padded on the left with blanks or zeros, as integers.

    A blank is 0x20 and a digit 0x30 to 0x39, so the low four bits are the digit in both.
    """
    width = cells.shape[1]
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    numbers: Ints = (cells & 0x0F).astype(np.int64) @ powers
    return numbers


_LAST_DIGITS = [np.uint64(0x0F0F0F0F0F0F0F0F & ~((1 << 8 * (8 - count)) - 1)) for count in range(9)]
_JOINS = [
    (np.uint64(10 * 2**8 + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * 2**16 + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(10_000 * 2**32 + 1), np.uint64(32), np.uint64(0xFFFFFFFF)),
]


def numbers_before(data: Bytes, ends: Ints, width: int) -> Ints:
    """The numbers in the `width` bytes before each position, padded on the left with blanks or zeros.

    Eight digits at a time as one word: pairs, then fours, then all eight are put together by a
    multiplication each. Every position must have at least eight bytes before it.
    """
    words = _words(data)
    numbers: NDArray[np.uint64] | None = None
    for taken in range(0, width, 8):
        eight = words[ends - (taken + 8)]
        # What comes first in the text is lowest in the word: bytes before the number are masked away.
        eight &= _LAST_DIGITS[min(8, width - taken)]
        for factor, shift, mask in _JOINS:
            eight *= factor
            eight >>= shift
            eight &= mask
        if numbers is None:
            numbers = eight
        else:
            eight *= np.uint64(10**taken)
            numbers += eight
    return np.zeros(len(ends), np.int64) if numbers is None else numbers.view(np.int64)


def _words(data: Bytes) -> NDArray[np.uint64]:
    """The eight bytes at every place, each as one number."""
    return np.ndarray((max(0, len(data) - 7),), "<u8", data.data, 0, (1,))


def matches(data: Bytes, positions: Ints, literal: bytes) -> Flags:
    """Whether `literal` stands at each position, compared eight bytes at a time."""
    words = _words(data)
    good = np.ones(len(positions), np.bool_)
    if len(literal) >= 8:
        for offset in [*range(0, len(literal) - 8, 8), len(literal) - 8]:
            good &= words[positions + offset] == np.frombuffer(literal, "<u8", 1, offset)[0]
    elif len(positions) and int(positions.max()) < len(words):
        mask = np.uint64((1 << 8 * len(literal)) - 1)
        good = (words[positions] & mask) == np.uint64(int.from_bytes(literal, "little"))
    else:
        for offset, byte in enumerate(literal):
            good &= data[positions + offset] == byte
    return good
