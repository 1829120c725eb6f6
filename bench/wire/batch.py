"""A batch of received messages: positions in a shared buffer, and when each arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    def payload(self, i: int) -> bytes:
        start = self.index.line_ends[i] + 2 + self.index.header_sizes.get(i, 0)
        return bytes(self.buffer[start : self.index.ends[i] - 2])

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


def matches(data: Bytes, positions: Ints, literal: bytes) -> Flags:
    """Whether `literal` stands at each position, compared eight bytes at a time."""
    if len(literal) < 8:
        good = np.ones(len(positions), np.bool_)
        for offset, byte in enumerate(literal):
            good &= data[positions + offset] == byte
        return good
    words = np.ndarray((len(data) - 7,), "<u8", data.data, 0, (1,))
    good = np.ones(len(positions), np.bool_)
    for offset in [*range(0, len(literal) - 8, 8), len(literal) - 8]:
        good &= words[positions + offset] == np.frombuffer(literal, "<u8", 1, offset)[0]
    return good
