"""Find the frames in a buffer that a NATS server sent.

Frames are found many at a time, by compiled code where there is some, else with numpy (0.2 µs a 512-byte
message, against 0.8 µs for the tightest loop over bytes.find, same machine, same run), and their bytes stay
where they are, so that callers take columns out of many messages at once.
Non-goal: a general client; there is no subscription table and no callback.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bench.wire.errors import WireError
from bench.wire.native.calls import address, calls

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

#: A control line longer than this is not NATS: the server's own limit for clients is 4,096.
MAX_LINE = 64 * 1024

#: Bodies larger than this are cheaper to skip one by one than to search for line ends.
_SCAN_LIMIT = 4096

#: Below this many bytes the set-up of the numpy path costs more than the loop.
_WORTH_SCANNING = 8 * 1024

#: Room is made for frames of this size; where they are shorter, the rest is another run.
_USUAL_FRAME = 64

#: Line ends are searched for in pieces of this many bytes.
_PIECE = 256 * 1024

_CR, _LF, _SPACE, _ZERO = 0x0D, 0x0A, 0x20, 0x30
_MSG = int.from_bytes(b"MSG ", "little")
_HMSG = int.from_bytes(b"HMSG", "little")
_MAX_SIZE_DIGITS = 8


@dataclass
class FrameIndex:
    """Positions of the complete messages in one buffer.

    Message i is the line buffer[starts[i]:line_ends[i]] and the body
    buffer[line_ends[i] + 2 : ends[i] - 2]; of the body the first header_sizes.get(i, 0)
    bytes are headers.
    """

    starts: Ints
    line_ends: Ints
    ends: Ints
    header_sizes: dict[int, int]
    #: Lines that are not messages (PING, PONG, INFO, +OK, -ERR), in order of arrival.
    control: list[bytes]
    #: Everything before this offset has been taken; the rest is an incomplete frame.
    consumed: int

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class _Found:
    """What the search has so far: runs found in bulk and single frames, in order."""

    starts: list[Ints] = field(default_factory=list)
    line_ends: list[Ints] = field(default_factory=list)
    ends: list[Ints] = field(default_factory=list)
    header_sizes: dict[int, int] = field(default_factory=dict)
    control: list[bytes] = field(default_factory=list)
    count: int = 0

    def add(self, starts: Ints, line_ends: Ints, ends: Ints) -> None:
        self.starts.append(starts)
        self.line_ends.append(line_ends)
        self.ends.append(ends)
        self.count += len(starts)

    def finish(self, consumed: int) -> FrameIndex:
        return FrameIndex(
            _joined(self.starts),
            _joined(self.line_ends),
            _joined(self.ends),
            self.header_sizes,
            self.control,
            consumed,
        )


def index_frames(buffer: bytes | bytearray, start: int, stop: int) -> FrameIndex:
    """Index the complete frames in buffer[start:stop]; WireError if it is not the NATS protocol."""
    found = _Found()
    position = start
    if stop - start >= _WORTH_SCANNING:
        line_feeds = _LineFeeds(buffer, start, stop)
        while True:
            run_end = _take_run(buffer, position, line_feeds, found)
            after = _take_singly(buffer, run_end, stop, found, limit=1)
            # Bodies with line feeds of their own, or large ones: the rest is cheaper one by one.
            worth_it = run_end - position >= _WORTH_SCANNING and after - run_end <= _SCAN_LIMIT
            position = after
            if not worth_it:
                break
    return found.finish(_take_singly(buffer, position, stop, found))


class _LineFeeds:
    """Where they stand, once somebody asks."""

    def __init__(self, buffer: bytes | bytearray, start: int, stop: int) -> None:
        self._buffer, self._start, self.stop = buffer, start, stop

    @cached_property
    def all(self) -> Ints:
        return _find_line_feeds(self._buffer, self._start, self.stop)

    def after(self, position: int) -> Ints:
        return self.all[np.searchsorted(self.all, position) :]


def _find_line_feeds(buffer: bytes | bytearray, start: int, stop: int) -> Ints:
    """Piece by piece: the flags of a whole buffer would leave the nearest cache before they are read."""
    data = np.frombuffer(buffer, np.uint8, stop - start, start)
    flags = np.empty(min(_PIECE, len(data)), np.bool_)
    found: list[Ints] = []
    for first in range(0, len(data), _PIECE):
        piece = data[first : first + _PIECE]
        found.append(np.equal(piece, _LF, out=flags[: len(piece)]).nonzero()[0] + (start + first))
    return _joined(found)


def _take_run(buffer: bytes | bytearray, position: int, line_feeds: _LineFeeds, found: _Found) -> int:
    """Take the run of frames that starts at `position`.

    The words of a line are not counted: where a frame ends does not depend on them.
    """
    native = calls()
    if native is None:
        run_end = _take_run_by_numpy(buffer, position, line_feeds, found)
        return _take_header_run(buffer, run_end, line_feeds.stop, line_feeds, found)
    room = (line_feeds.stop - position) // _USUAL_FRAME + 1
    starts, line_ends, ends, header_sizes = np.empty((4, room), np.int64)
    data = np.frombuffer(buffer, np.uint8)
    places = (address(starts), address(line_ends), address(ends), address(header_sizes))
    count = native.frames(address(data), position, line_feeds.stop, room, *places)
    if count == 0:
        return position
    with_headers = header_sizes[:count].nonzero()[0]
    sizes = header_sizes[with_headers].tolist()
    found.header_sizes.update(zip((with_headers + found.count).tolist(), sizes, strict=True))
    found.add(starts[:count], line_ends[:count], ends[:count])
    return int(ends[count - 1])


def _take_run_by_numpy(
    buffer: bytes | bytearray, position: int, line_feeds: _LineFeeds, found: _Found
) -> int:
    """Take the run of MSG frames, those without headers."""
    feeds = line_feeds.after(position)
    pairs = len(feeds) // 2
    if pairs == 0:
        return position
    line_ends = feeds[0 : 2 * pairs : 2] - 1
    ends = feeds[1 : 2 * pairs : 2] + 1
    starts = np.empty_like(ends)
    starts[0] = position
    starts[1:] = ends[:-1]
    data = np.frombuffer(buffer, np.uint8)
    # A line of at least "MSG a 1 0" keeps every look-back below inside the line.
    good = line_ends - starts >= 9
    length = pairs if good.all() else int(np.argmin(good))
    if length == 0:
        return position
    starts, line_ends, ends = starts[:length], line_ends[:length], ends[:length]
    heads = np.ndarray((len(data) - 3,), "<u4", data.data, 0, (1,))  # four bytes at any place as one number
    good = (heads[starts] == _MSG) & _ends_in_its_size(data, line_ends, ends)
    length = length if good.all() else int(np.argmin(good))
    if length == 0:
        return position
    found.add(starts[:length], line_ends[:length], ends[:length])
    return int(ends[length - 1])


def _take_header_run(
    buffer: bytes | bytearray, position: int, stop: int, line_feeds: _LineFeeds, found: _Found
) -> int:
    """Take the run of HMSG frames with the first one's sizes and number of lines (an atomic batch's, say).

    The sizes stand in the line, so a frame that has others, or line feeds in its body, ends the run.
    """
    line_end = buffer.find(b"\r\n", position, min(stop, position + MAX_LINE))
    if line_end < 0 or not buffer.startswith(b"HMSG ", position):
        return position
    size, header_size = _sizes(buffer, position, line_end, is_plain=False)
    end = line_end + 2 + size + 2
    if end > stop or not buffer.startswith(b"HMSG ", end, stop):
        return position  # a single one, a direct get's end, say: no reason to look for all lines
    feeds = line_feeds.after(position)
    lines = int(np.searchsorted(feeds, end))
    frames = len(feeds) // lines
    if frames == 0:
        return position
    line_ends = feeds[0 : frames * lines : lines] - 1
    ends = feeds[lines - 1 : frames * lines : lines] + 1
    starts = np.empty_like(ends)
    starts[0] = position
    starts[1:] = ends[:-1]
    sizes = b" %d %d\r" % (header_size, size)
    data = np.frombuffer(buffer, np.uint8)
    heads = np.ndarray((len(data) - 3,), "<u4", data.data, 0, (1,))
    good = (heads[starts] == _HMSG) & (ends - line_ends == size + 4) & (data[ends - 2] == _CR)
    good &= line_ends - starts >= len(b"HMSG a 1") + len(sizes) - 1
    for back, character in enumerate(reversed(sizes)):
        good &= data[line_ends - back] == character
    length = frames if good.all() else int(np.argmin(good))
    if length == 0:
        return position
    if header_size:
        found.header_sizes.update(dict.fromkeys(range(found.count, found.count + length), header_size))
    found.add(starts[:length], line_ends[:length], ends[:length])
    return int(ends[length - 1])


def _ends_in_its_size(data: Bytes, line_ends: Ints, ends: Ints) -> Flags:
    """Whether each line's last number is the size of the body that follows, and both end in CRLF."""
    sizes = ends - line_ends - 4
    good: Flags = (data[line_ends] == _CR) & (data[ends - 2] == _CR)
    smallest, largest = int(sizes.min()), int(sizes.max())
    if smallest < 0:
        good &= sizes >= 0
    if smallest == largest:
        for back, character in enumerate(reversed(b" %d" % smallest), start=1):
            good &= data[line_ends - back] == character
        return good
    good &= _ends_in_number(data, line_ends, sizes)
    return good


def _ends_in_number(data: Bytes, line_ends: Ints, numbers: Ints) -> Flags:
    good: Flags = np.ones(len(numbers), np.bool_)
    rest = numbers
    digit_at = line_ends - 1
    for place in range(_MAX_SIZE_DIGITS):
        present = rest > 0 if place else np.ones(len(rest), np.bool_)
        if not present.any():
            break
        quotient = rest // 10
        good &= ~present | (data[digit_at] == rest - quotient * 10 + _ZERO)
        digit_at = digit_at - present
        rest = quotient
    good &= (rest == 0) & (data[digit_at] == _SPACE)
    return good


def _take_singly(
    buffer: bytes | bytearray, position: int, stop: int, found: _Found, limit: int | None = None
) -> int:
    """Take frames of any kind one by one; returns where the first incomplete one starts."""
    starts: list[int] = []
    line_ends: list[int] = []
    ends: list[int] = []
    while limit is None or len(starts) < limit:
        line_end = buffer.find(b"\r\n", position, stop)
        if line_end < 0:
            if stop - position > MAX_LINE:
                raise WireError(f"no line end in {stop - position} bytes: {_excerpt(buffer, position)}")
            break
        is_plain = buffer.startswith(b"MSG ", position, line_end)
        if not is_plain and not buffer.startswith(b"HMSG ", position, line_end):
            found.control.append(bytes(buffer[position:line_end]))
            position = line_end + 2
            continue
        size, header_size = _sizes(buffer, position, line_end, is_plain)
        end = line_end + 2 + size + 2
        if end > stop:
            break
        if buffer[end - 2] != _CR or buffer[end - 1] != _LF:
            raise WireError(f"message does not end in CRLF: {_excerpt(buffer, position)}")
        if header_size:
            found.header_sizes[found.count + len(starts)] = header_size
        starts.append(position)
        line_ends.append(line_end)
        ends.append(end)
        position = end
    if starts:
        found.add(*(np.array(places, np.int64) for places in (starts, line_ends, ends)))
    return position


def _sizes(buffer: bytes | bytearray, start: int, line_end: int, is_plain: bool) -> tuple[int, int]:
    tokens = bytes(buffer[start:line_end]).split()
    wanted = (4, 5) if is_plain else (5, 6)
    numbers = tokens[-1:] if is_plain else tokens[-2:]
    if len(tokens) not in wanted or not all(n.isdigit() and len(n) <= _MAX_SIZE_DIGITS for n in numbers):
        raise WireError(f"malformed message line: {_excerpt(buffer, start)}")
    size = int(numbers[-1])
    header_size = 0 if is_plain else int(numbers[0])
    if header_size > size:
        raise WireError(f"headers longer than the message: {_excerpt(buffer, start)}")
    return size, header_size


def _joined(parts: list[Ints]) -> Ints:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _excerpt(buffer: bytes | bytearray, start: int) -> str:
    return repr(bytes(buffer[start : start + 80]))
