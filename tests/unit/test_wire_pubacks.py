"""JetStream's answers to publishes: every one belongs to the right event."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.wire.batch import Batch
from bench.wire.errors import WireError
from bench.wire.frames import index_frames
from bench.wire.pubacks import AnswerReader

relaxed = settings(deadline=None)  # a busy machine is no finding

INBOX, WIDTH = "_INBOX.abc123", 6
NO_RESPONDERS = b"NATS/1.0 503\r\n\r\n"


class Told(NamedTuple):
    """What a reader should make of some answers, each list in any order."""

    acked: list[int]
    deduplicated: list[int]
    nacked: list[tuple[int, int]]


def answer(seq: int, body: bytes, headers: bytes = b"") -> bytes:
    subject = f"{INBOX}.{seq:0{WIDTH}d}".encode()
    if headers:
        size = len(headers) + len(body)
        return b"HMSG %s 1 %d %d\r\n%s%s\r\n" % (subject, len(headers), size, headers, body)
    return b"MSG %s 1 %d\r\n%s\r\n" % (subject, len(body), body)


def ack(seq: int, stream_seq: int, stream: str = "EVENTS", blank: str = "", more: str = "") -> bytes:
    return answer(seq, f'{{"stream":"{stream}",{blank}"seq":{stream_seq}{more}}}'.encode())


def nack(seq: int, code: int, text: str) -> bytes:
    error = {"code": 400, "err_code": code, "description": text}
    return answer(seq, json.dumps({"error": error, "stream": "EVENTS", "seq": 0}).encode())


def read(chunks: Iterable[bytes]) -> Told:
    reader = AnswerReader(INBOX, WIDTH, "EVENTS")
    told = Told([], [], [])
    waiting = b""
    for chunk in chunks:
        buffer = bytearray(waiting + chunk)
        index = index_frames(buffer, 0, len(buffer))
        answers = reader.read(Batch(buffer, index, index.starts))
        assert answers.acked.dtype == np.int64
        told.acked.extend(answers.acked.tolist())
        told.deduplicated.extend(answers.deduplicated)
        told.nacked.extend((nack.ticket, nack.code) for nack in answers.nacked)
        waiting = bytes(buffer[index.consumed :])
    assert waiting == b""
    return Told(*map(sorted, told))


@pytest.mark.parametrize("blank", ["", " "], ids=["as 2.12 writes", "as before"])
@pytest.mark.parametrize("first", [1, 5, 95, 995, 99_500])
def test_plain_acks_in_bulk_over_digit_borders(blank: str, first: int) -> None:
    """If this fails, acks are lost or misread where the stream's sequence gets one digit longer."""
    seqs = range(1, 1_201)
    data = b"".join(ack(seq, first + seq, blank=blank) for seq in seqs)
    assert read([data]) == Told(list(seqs), [], [])


def test_plain_acks_are_not_parsed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the producer pays for JSON on every ack, and its schedule slips."""
    singly: list[int] = []
    original = AnswerReader._read_one

    def spy(self: AnswerReader, batch: Batch, i: int, *rest: object) -> object:
        singly.append(i)
        return original(self, batch, i, *rest)

    monkeypatch.setattr(AnswerReader, "_read_one", spy)
    data = b"".join(ack(seq, seq) for seq in range(1, 2_001))
    assert read([data]).acked == list(range(1, 2_001))
    assert singly == []


ODD = {
    "duplicate": (lambda s: ack(s, s, more=',"duplicate": true'), lambda s: Told([s], [s], [])),
    "domain": (lambda s: ack(s, s, more=',"domain":"hub"'), lambda s: Told([s], [], [])),
    "heartbeat": (lambda _: ack(0, 9, stream="CTRL"), lambda _: Told([0], [], [])),
    "heartbeat as long as an ack": (lambda _: ack(0, 9, stream="OTHERS"), lambda _: Told([0], [], [])),
    "refused": (lambda s: nack(s, 10077, "maximum messages exceeded"), lambda s: Told([], [], [(s, 10077)])),
    "old error": (lambda s: answer(s, b'{"error":{"code":503}}'), lambda s: Told([], [], [(s, 503)])),
    "no responders": (lambda s: answer(s, b"", NO_RESPONDERS), lambda s: Told([], [], [(s, 503)])),
    "garbage": (lambda s: answer(s, b'{"stream":"EVENTS","seq":x}'), lambda s: Told([], [], [(s, 0)])),
    "nothing": (lambda s: answer(s, b""), lambda s: Told([], [], [(s, 0)])),
    "control": (lambda _: b"PING\r\n", lambda _: Told([], [], [])),
    "info": (lambda _: b'INFO {"x":1}\r\n', lambda _: Told([], [], [])),
}
plain = (lambda s: ack(s, s), lambda s: Told([s], [], []))
kinds = st.one_of(st.just(plain), st.just(plain), st.sampled_from(list(ODD.values())))


@relaxed
@given(
    st.lists(st.tuples(kinds, st.integers(1, 30)), max_size=12), st.lists(st.integers(0, 9_999), max_size=6)
)
def test_any_answers_in_any_chunks(groups: list[tuple], places: list[int]) -> None:
    """If this fails, an event counts as stored that was refused, or the other way round."""
    data, wanted, seq = b"", Told([], [], []), 0
    for (make, means), count in groups:
        for _ in range(count):
            seq += 1
            data += make(seq)
            for told, more in zip(wanted, means(seq), strict=True):
                told.extend(more)
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    chunks = [data[a:b] for a, b in pairwise(borders)]
    assert read(chunks) == Told(*map(sorted, wanted))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'"error"',
        b"{}",
        b'{"stream":"EVENTS"}',
        b'{"stream":"EVENTS","seq":true}',
        b'{"stream":"EVENTS","seq":"5"}',
        b'{"stream":"EVENTS","seq":}',
        b'{"stream":"EVENTS","seq":1 }x',
        b'{"stream":"EVENTS","seq":-}',
        b'{"error":"text"}',
        b'{"error":{"code":Infinity}}',
        b'{"error":{"code":null}}',
        b'{"error":null}',
        b"\xff\xff",
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:30]),
)
@pytest.mark.parametrize("neighbours", [0, 50])
def test_what_is_no_acknowledgement_is_a_refusal(body: bytes, neighbours: int) -> None:
    """If this fails, a garbled answer counts as stored, or kills the producer."""
    around = b"".join(ack(seq, seq) for seq in range(1, neighbours + 1))
    told = read([around + answer(777, body) + around])
    assert told == Told(sorted(2 * list(range(1, neighbours + 1))), [], [(777, 0)])


def test_the_servers_words_are_kept() -> None:
    """If this fails, a report says that events were refused but not why."""
    buffer = bytearray(nack(5, 10077, "maximum messages exceeded") + answer(6, b"", NO_RESPONDERS))
    index = index_frames(buffer, 0, len(buffer))
    answers = AnswerReader(INBOX, WIDTH, "EVENTS").read(Batch(buffer, index, index.starts))
    assert [nack.text for nack in answers.nacked] == [
        "maximum messages exceeded",
        "no stream listens on this subject",
    ]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    "token", [b"12", b"0000012", b"00x012", b"+00012", b"-00012", b"1_0_00", b"\xff\xff0000"]
)
def test_an_answer_to_no_publish_of_ours_is_an_error(token: bytes, alone: bool) -> None:
    """If this fails, a strange subject is read as some seq, and that event counts as stored."""
    body = b'{"stream":"EVENTS","seq":12}'
    odd = b"MSG %s.%s 1 %d\r\n%s\r\n" % (INBOX.encode(), token, len(body), body)
    around = b"" if alone else b"".join(ack(seq, 10 + seq) for seq in range(1, 50))
    with pytest.raises(WireError, match="none of our publishes"):
        read([around + odd])


def test_rows_of_one_length_but_another_shape() -> None:
    """If this fails, answers that are as long as their neighbours are read at the neighbours' places."""
    acks = [ack(seq, 10_000 + seq) for seq in range(1, 40)]
    length = len(acks[0])
    body = b'{"error":{"code":503,"description":"' + b"x" * 200
    for size in range(len(body)):
        odd = answer(500, body[:size])
        if len(odd) == length:
            break
    assert len(odd) == length
    told = read([b"".join(acks[:20]) + odd + b"".join(acks[20:])])
    assert told == Told(list(range(1, 40)), [], [(500, 0)])
    assert read([odd + b"".join(acks)]) == told
