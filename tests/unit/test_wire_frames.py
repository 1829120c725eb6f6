"""Finding frames in bulk, against a parser that does one thing at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire import frames
from bench.wire.batch import Batch
from bench.wire.errors import WireError
from bench.wire.frames import FrameIndex, index_frames
from bench.wire.native.calls import calls


@pytest.fixture(autouse=True, scope="module", params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to find a run, wherever the tests are run: they must not differ."""
    if request.param == "compiled":
        if calls() is None:
            pytest.skip("bench/wire/native is not compiled here: run `make setup`")
        yield
    else:
        with mock.patch.object(frames, "calls", return_value=None):
            yield


relaxed = settings(deadline=None)  # a busy machine is no finding

ALWAYS_IN_BULK, NEVER_IN_BULK = 1, 1 << 40


class Message(NamedTuple):
    line: bytes
    headers: bytes
    body: bytes

    def frame(self) -> bytes:
        return self.line + b"\r\n" + self.headers + self.body + b"\r\n"


class Parsed(NamedTuple):
    messages: list[Message]
    control: list[bytes]
    rest: bytes


def message(body: bytes, subject: bytes = b"a", reply: bytes = b"", headers: bytes | None = None) -> Message:
    words = [b"HMSG" if headers is not None else b"MSG", subject, b"1"]
    words += [reply] if reply else []
    words += [b"%d" % len(headers)] if headers is not None else []
    words.append(b"%d" % (len(headers or b"") + len(body)))
    return Message(b" ".join(words), headers or b"", body)


def reference(data: bytes) -> Parsed:
    """The protocol as its documentation tells it, one frame after the other."""
    parsed = Parsed([], [], b"")
    while True:
        line, found, after = data.partition(b"\r\n")
        if not found:
            return parsed._replace(rest=data)
        words = line.split(b" ")
        if words[0] not in (b"MSG", b"HMSG"):
            parsed.control.append(line)
            data = after
            continue
        size = int(words[-1])
        header_size = int(words[-2]) if words[0] == b"HMSG" else 0
        if len(after) < size + 2:
            return parsed._replace(rest=data)
        assert after[size : size + 2] == b"\r\n"
        parsed.messages.append(Message(line, after[:header_size], after[header_size:size]))
        data = after[size + 2 :]


def in_bulk(chunks: Iterable[bytes]) -> Parsed:
    """The same by index_frames, from a buffer that is filled chunk by chunk and has old bytes behind."""
    parsed = Parsed([], [], b"")
    waiting = b""
    for chunk in chunks:
        waiting += chunk
        stale = b"MSG a 1 3\r\nold\r\n"
        buffer = bytearray(b"before" + waiting + stale)
        index = index_frames(buffer, 6, 6 + len(waiting))
        parsed.messages.extend(messages_of(buffer, index))
        parsed.control.extend(index.control)
        waiting = waiting[index.consumed - 6 :]
    return parsed._replace(rest=waiting)


def messages_of(buffer: bytearray, index: FrameIndex) -> list[Message]:
    batch = Batch(buffer, index, index.starts)
    return [Message(batch.line(i), batch.headers(i), batch.payload(i)) for i in range(len(batch))]


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(borders)]


LOOKALIKES = [
    b"",
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"MSG a 1 0\r\n\r\n",
    b"MSG a 1 5\r\nhello\r\n",
    b"x\r\nMSG a 1 5\r\nhello",
    b"\r\nMSG a 1 2",
    b"PING\r\n",
    b"5\r\n12345",
    b"-ERR 'no'\r\n",
]
bodies = st.one_of(
    st.sampled_from(LOOKALIKES),
    st.binary(max_size=40),
    st.integers(4_000, 9_000).map(lambda size: b"L" * size),
    st.integers(4_000, 9_000).map(lambda size: b"L\r\n" * (size // 3)),
)
subjects = st.sampled_from([b"a", b"events.3", b"_INBOX.abc.00017", b"M", b"MSG"])
replies = st.sampled_from([b"", b"", b"r", b"$JS.ACK.S.c.1.2.3.4.5"])
headers = st.sampled_from([b"NATS/1.0\r\n\r\n", b"NATS/1.0 100 Idle\r\n\r\n", b"NATS/1.0\r\nk: v\r\n\r\n"])
plain = st.builds(message, bodies, subjects, replies)
with_headers = st.builds(message, bodies, subjects, replies, headers)
control_lines = st.sampled_from([b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b'INFO {"a":1}\r\n', b"\r\n"])
uniform_runs = st.builds(
    lambda body, subject, count: [message(body, subject).frame()] * count,
    bodies,
    subjects,
    st.integers(1, 30),
)
pieces = st.one_of(
    plain.map(lambda m: [m.frame()]),
    plain.map(lambda m: [m.frame()]),
    uniform_runs,
    with_headers.map(lambda m: [m.frame()]),
    control_lines.map(lambda line: [line]),
)
streams = st.lists(pieces, max_size=12).map(
    lambda groups: b"".join(frame for group in groups for frame in group)
)


@relaxed
@given(
    streams, st.lists(st.integers(0, 100_000), max_size=8), st.sampled_from([ALWAYS_IN_BULK, 200, 32 * 1024])
)
def test_any_messages_in_any_chunks_come_out_in_order(data: bytes, places: list[int], worth: int) -> None:
    """If this fails, messages are lost, doubled, cut or swapped by how the kernel hands out bytes."""
    with mock.patch.object(frames, "_WORTH_SCANNING", worth):
        assert in_bulk(cut(data, places)) == reference(data)


@settings(deadline=None, max_examples=25)
@given(streams.filter(lambda data: len(data) < 600))
def test_a_byte_at_a_time_is_no_different(data: bytes) -> None:
    """If this fails, a slow connection breaks the parser."""
    chunks = [data[i : i + 1] for i in range(len(data))]
    for worth in (ALWAYS_IN_BULK, NEVER_IN_BULK):
        with mock.patch.object(frames, "_WORTH_SCANNING", worth):
            assert in_bulk(chunks) == reference(data)


def deliveries(count: int, bodies: list[bytes]) -> list[Message]:
    return [
        message(
            bodies[i % len(bodies)],
            b"_INBOX.abcdef",
            b"$JS.ACK.EVENTS.dur.1.%d.%d.1759000000000000000.%d" % (i, i, i),
        )
        for i in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("bodies", "bulk_share"),
    [
        ([b"x" * 512], 1.0),
        ([b"x" * size for size in range(95, 105)], 1.0),
        ([b""], 1.0),
        ([b"x" * size for size in (0, 1, 9, 10, 99, 100, 999, 1000)], 1.0),
        ([b"x" * 512] * 300 + [b"a\r\nb" * 10], 0.95),
        ([b"x" * 512] * 300 + [b"MSG a 1 5\r\nhello\r\n"], 0.95),
        ([b"x" * 512] * 300 + [b"y" * 6_000], 1.0),
        ([b"MSG a 1 5\r\nhello\r\n"], 0.0),
        ([b"y" * 10_000], 1.0),
    ],
)
def test_large_buffers_take_the_fast_path_and_agree(bodies: list[bytes], bulk_share: float) -> None:
    """If this fails, the fast path is not what reads a busy stream, or reads it wrongly."""
    sent = deliveries(2_500, bodies)
    data = b"".join(m.frame() for m in sent)
    assert len(data) > 5 * frames._WORTH_SCANNING
    taken: list[int] = []

    def spy(buffer: bytearray, position: int, line_feeds: frames._LineFeeds, found: frames._Found) -> int:
        before = found.count
        end = take_run(buffer, position, line_feeds, found)
        taken.append(found.count - before)
        return end

    take_run = frames._take_run
    with mock.patch.object(frames, "_take_run", spy):
        fast = in_bulk([data])
    with mock.patch.object(frames, "_WORTH_SCANNING", NEVER_IN_BULK):
        slow = in_bulk([data])
    assert fast == slow == Parsed(sent, [], b"")
    assert sum(taken) >= bulk_share * len(sent)


def test_control_lines_and_headers_between_long_runs() -> None:
    """If this fails, a keep-alive or a status in a busy stream costs the messages around it."""
    run = deliveries(300, [b"x" * 512])
    status = message(b"", b"_INBOX.abcdef", b"", b"NATS/1.0 408 Request Timeout\r\n\r\n")
    data = b"".join(m.frame() for m in run)
    data = (
        data
        + b"PING\r\n"
        + data
        + status.frame()
        + data
        + b"+OK\r\nPING\r\n"
        + status.frame()
        + data
        + b"MSG"
    )
    parsed = in_bulk([data])
    assert parsed.messages == [*run, *run, status, *run, status, *run]
    assert parsed.control == [b"PING", b"+OK", b"PING"]
    assert parsed.rest == b"MSG"


# -- what no server sends ----------------------------------------------------------

MALFORMED = [
    b"MSG a 1 x\r\n\r\n",
    b"MSG a 1 -1\r\n\r\n",
    b"MSG a 1 +5\r\nhello\r\n",
    b"MSG a 1 5_0\r\nhello\r\n",
    b"MSG a 1 123456789\r\n",
    b"MSG a 1 " + b"9" * 5_000 + b"\r\n",
    b"MSG 5\r\nhello\r\n",
    b"MSG a 5\r\nhello\r\n",
    b"MSG \r\n",
    b"MSG a 1 5\r\nhello!\r\n",
    b"MSG a 1 5\r\nhelloxx",
    b"MSG a 1 5\r\nhellox\n",
    b"MSG a 1 5\r\nhellox\n" + b"MSG a 1 5\r\nhello\r\n",
    b"MSG a 1 0\r\nhello\r\n",
    b"HMSG a 1 5\r\nhello\r\n",
    b"HMSG a 1 6 5\r\nhello\r\n",
    b"HMSG a 1 x 5\r\nhello\r\n",
    b"HMSG a 1 -1 5\r\nhello\r\n",
    b"x" * (frames.MAX_LINE + 1),
    b"MSG " + b"a" * frames.MAX_LINE,
]


@pytest.mark.parametrize("before", [0, 200], ids=["alone", "after a run"])
@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: repr(data[:24]))
def test_malformed_input_is_a_wire_error(data: bytes, before: int) -> None:
    """If this fails, garbage is read as messages, hangs the reader, or kills it with a riddle."""
    good = b"".join(m.frame() for m in deliveries(before, [b"x" * 512]))
    for worth in (ALWAYS_IN_BULK, 32 * 1024, NEVER_IN_BULK):
        with mock.patch.object(frames, "_WORTH_SCANNING", worth), pytest.raises(WireError):
            in_bulk([good + data])


def test_a_line_with_too_many_words() -> None:
    """If this fails, a line that no server writes is read as if one of its words were the reply."""
    with pytest.raises(WireError, match="malformed message line"):
        in_bulk([b"MSG a 1 r s 5\r\nhello\r\n"])


def test_a_run_of_what_only_looks_like_messages() -> None:
    """If this fails, lines that merely begin with M are taken for messages in bulk."""
    data = b"MOM a 1 5\r\nhello\r\n" * 3_000
    assert len(data) > frames._WORTH_SCANNING
    parsed = in_bulk([data])
    assert parsed.messages == []
    assert parsed.control[:2] == [b"MOM a 1 5", b"hello"]


def outcome(data: bytes, worth: int) -> Parsed | str:
    with mock.patch.object(frames, "_WORTH_SCANNING", worth):
        try:
            return in_bulk([data])
        except WireError as error:
            return str(error)


@settings(deadline=None, max_examples=150)
@given(streams.filter(bool), st.data())
def test_damaged_input_gives_no_wrong_message(data: bytes, draw: st.DataObject) -> None:
    """If this fails, a damaged stream yields a message that nobody sent, or another exception."""
    for _ in range(draw.draw(st.integers(1, 3))):
        place = draw.draw(st.integers(0, len(data)))
        drop = draw.draw(st.integers(0, 3))
        add = draw.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"\r\n", b" ", b"0", b"9", b"MSG "]))
        )
        data = data[:place] + add + data[place + drop :]
    fast, slow = outcome(data, ALWAYS_IN_BULK), outcome(data, NEVER_IN_BULK)
    if isinstance(slow, Parsed):
        assert fast == slow
    elif isinstance(fast, Parsed):
        # The one thing not checked in bulk is the number of words in a line.
        assert slow.startswith("malformed message line")
    for one in fast.messages if isinstance(fast, Parsed) else []:
        kind, *_, size = one.line.split()
        assert kind in (b"MSG", b"HMSG")
        assert int(size) == len(one.headers + one.body)
        assert one.frame() in data


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300))
def test_random_bytes_hold_no_message(data: bytes) -> None:
    """If this fails, noise is read as a message or ends in an unforeseen exception."""
    for worth in (ALWAYS_IN_BULK, NEVER_IN_BULK):
        parsed = outcome(data, worth)
        assert isinstance(parsed, str) or parsed.messages == [] or b"MSG " in data


def test_nothing_is_nothing() -> None:
    """If this fails, a wake-up without data is an error."""
    index = index_frames(bytearray(10), 4, 4)
    assert (len(index), index.control, index.consumed) == (0, [], 4)
