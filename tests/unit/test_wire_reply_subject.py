"""What a delivery's reply subject tells: when it was stored, and its number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import Batch
from bench.wire.errors import WireError
from bench.wire.frames import index_frames
from bench.wire.pull import delivery_of, stored_ns

relaxed = settings(deadline=None)  # a busy machine is no finding

NOW_NS = 1_759_000_000_123_456_789
DELIVERY = b"MSG i 1 $JS.ACK.EVENTS.dur_A_events.1.1.1.%d.7 5\r\nhello\r\n" % NOW_NS


def batch_of(data: bytes, room: int = 0) -> Batch:
    buffer = bytearray(data + bytes(room))
    index = index_frames(buffer, 0, len(data))
    return Batch(buffer, index, np.zeros(len(index), np.int64))


names = st.from_regex(r"[A-Za-z_]{1,20}", fullmatch=True)
counts = st.one_of(st.integers(0, 10**12 - 1), st.sampled_from([0, 9, 10, 99, 100, 999_999_999_999]))


@relaxed
@given(st.data(), names, names)
def test_stored_times_equal_naive_parsing(data: st.DataObject, stream: str, consumer: str) -> None:
    """If this fails, the hops of a report are times of something else."""
    rows = data.draw(
        st.lists(st.tuples(st.integers(10**18, 2**63 - 1), counts, counts), min_size=1, max_size=20)
    )
    headers = data.draw(st.sampled_from([b"", b"NATS/1.0\r\nk: v\r\n\r\n"]))
    frames, wanted = b"", []
    for stamp, seq, pending in rows:
        reply = f"$JS.ACK.{stream}.{consumer}.{seq % 3 + 1}.{seq}.{seq + 1}.{stamp}.{pending}"
        body = b"." * data.draw(st.sampled_from([0, 9, 10, 99, 100, 512]))
        head = headers if seq % 2 else b""
        sizes = f"{len(head)} {len(head) + len(body)}" if head else f"{len(body)}"
        frames += f"{'H' * bool(head)}MSG i 1 {reply} {sizes}\r\n".encode() + head + body + b"\r\n"
        wanted.append((stamp, (seq % 3 + 1, seq)))
    batch = batch_of(frames)
    assert stored_ns(batch).tolist() == [stamp for stamp, _ in wanted]
    assert [delivery_of(batch.reply(i)) for i in range(len(batch))] == [told for _, told in wanted]
    assert len(stored_ns(batch.without(list(range(len(batch)))))) == 0


FOREIGN = [
    b"MSG i 1 5\r\nhello\r\n",
    b"MSG i 1 reply 5\r\nhello\r\n",
    b"MSG %s 1 5\r\nhello\r\n" % (b"_INBOX." + b"x" * 60),
    b"MSG i 1 $JS.ACK.EVENTS.dur.1.2.3.%d 5\r\nhello\r\n" % NOW_NS,
    b"MSG i 1 $JS.ACK.dom.hash.EVENTS.dur.1.2.3.%d.7.token123 5\r\nhello\r\n" % NOW_NS,
    b"HMSG i 1 12 12\r\nNATS/1.0\r\n\r\n\r\n",
    b"HMSG i 1 $JS.ACK.EVENTS.dur.1.2.3.x.5 12 12\r\nNATS/1.0\r\n\r\n\r\n",
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda data: repr(data[:50]))
@pytest.mark.parametrize("room", [0, 4096], ids=["at the buffer's end", "in a large buffer"])
def test_what_is_no_delivery_is_an_error(foreign: bytes, room: int) -> None:
    """If this fails, a foreign message gets a stored time out of somewhere else in the buffer."""
    for data in (foreign, DELIVERY + foreign, foreign + DELIVERY):
        with pytest.raises(WireError, match="not a JetStream delivery"):
            stored_ns(batch_of(data, room))


@pytest.mark.parametrize("reply", [b"", b"a.b", b"$JS.ACK.S.c.x.2.3.4.5", b"$JS.ACK.d.h.S.c.1.2.3.4.5.token"])
def test_a_reply_that_is_no_ack_subject_is_an_error(reply: bytes) -> None:
    """If this fails, a number of something else is taken for the stream's sequence."""
    with pytest.raises(WireError, match="not a JetStream delivery"):
        delivery_of(reply)
