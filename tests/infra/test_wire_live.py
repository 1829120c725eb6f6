"""The wire against a real nats-server: what the scripted servers of the unit tests only pretend."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import nats
import numpy as np
import pytest
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, StorageType, StreamConfig

from bench.contract.event import decode_event, make_event
from bench.contract.partition import partition_of
from bench.infra.endpoint import NatsEndpoint
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.publish_frames import EventFrames, FrameShape, seq_range
from bench.wire.batch import Batch
from bench.wire.connection import Connection, Server
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.pubacks import AnswerReader, Answers
from bench.wire.pull import PullReader, delivery_of, stored_ns

pytestmark = pytest.mark.infra

EVENTS = 5_000
PATIENCE_S = 30.0
SUBJECTS = tuple(f"wire.{p}" for p in range(4))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[NatsEndpoint]:
    service = LocalNats()
    with running(service):
        yield service.endpoint


@pytest.fixture
def admin(endpoint: NatsEndpoint) -> Callable[..., None]:
    """Runs a control-plane step with nats-py."""

    def run(step: Callable[[JetStreamContext], object]) -> None:
        async def once() -> None:
            client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
            try:
                await step(client.jetstream())
            finally:
                await client.close()

        asyncio.run(once())

    return run


@pytest.fixture
def stream(admin: Callable[..., None]) -> Iterator[Callable[..., str]]:
    """Makes the stream WIRE on wire.*; it is gone after the test."""

    def make(**options: object) -> str:
        config = StreamConfig("WIRE", subjects=["wire.*"], storage=StorageType.MEMORY, **options)
        admin(lambda js: js.add_stream(config))
        return "WIRE"

    yield make
    admin(lambda js: js.delete_stream("WIRE"))


@pytest.fixture
def connect(endpoint: NatsEndpoint) -> Iterator[Callable[[], Connection]]:
    opened: list[Connection] = []

    def dial() -> Connection:
        server = Server(endpoint.host, endpoint.port, endpoint.user, endpoint.password)
        opened.append(Connection(server, "wire-test"))
        return opened[-1]

    yield dial
    for connection in opened:
        connection.close()


class Publisher:
    """Sends the frames of given seqs, each with its own ticket, and collects the answer to each, by seq."""

    def __init__(self, connection: Connection, total: int, **shape: object) -> None:
        inbox = f"_INBOX.{secrets.token_hex(6)}"
        settings = {"subjects": SUBJECTS, "num_keys": 100} | shape
        self.shape = FrameShape("live", total, inbox=inbox, **settings)
        self.frames = EventFrames(self.shape, payload_bytes=512)
        self._tickets = self.shape.tickets
        self._reader = AnswerReader(inbox, self._tickets.width, "WIRE")
        self._connection = connection
        connection.send(f"SUB {inbox}.* 1\r\n".encode())

    def publish(self, first: int, last: int) -> Answers:
        now_ns = time.time_ns()
        for start in range(first, last + 1, self.shape.capacity):
            seqs = seq_range(start, min(last, start + self.shape.capacity - 1))
            times, tickets = np.full(len(seqs), now_ns), self._tickets.own(seqs)
            self._connection.send(bytes(self.frames.build(seqs, times, tickets)))
        acked, together = [], Answers(np.empty(0, np.int64), np.empty(0, np.int64))
        deadline = time.monotonic() + PATIENCE_S
        while sum(map(len, acked)) + len(together.nacked) < last - first + 1:
            assert time.monotonic() < deadline, "not every publish was answered"
            self._connection.fill(1.0)
            answers = self._reader.read(self._connection.take())
            acked.append(answers.acked - self._tickets.groups)
            together.deduplicated += [ticket - self._tickets.groups for ticket in answers.deduplicated]
            for nack in answers.nacked:
                together.nacked.append(replace(nack, ticket=nack.ticket - self._tickets.groups))
        together.acked = np.sort(np.concatenate(acked))
        return together


def test_what_is_published_comes_back_once(
    admin: Callable[..., None], stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, case A loses, doubles or misreads events although JetStream did nothing wrong."""
    stream()
    consumer = ConsumerConfig(durable_name="reader", ack_policy=AckPolicy.ALL, max_ack_pending=20_000)
    admin(lambda js: js.add_consumer("WIRE", consumer))
    before_ns = time.time_ns()
    publisher = Publisher(connect(), EVENTS)
    answers = publisher.publish(1, EVENTS)
    assert answers.acked.tolist() == list(range(1, EVENTS + 1))
    assert not answers.nacked
    assert not answers.deduplicated

    reader = PullReader(connect(), "WIRE", "reader", batch=500)
    seqs: list[int] = []
    stream_seqs: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(seqs) < EVENTS and time.monotonic() < deadline:
        batch = reader.read(1.0, linger_s=0.005)
        if not len(batch):
            continue
        check_deliveries(batch, before_ns)
        seqs += [decode_event(batch.payload(i)).seq for i in range(len(batch))]
        stream_seqs += [delivery_of(batch.reply(i))[1] for i in range(len(batch))]
        reader.ack(batch.reply(len(batch) - 1))
    assert sorted(seqs) == list(range(1, EVENTS + 1))
    assert stream_seqs == list(range(1, EVENTS + 1))


def check_deliveries(batch: Batch, before_ns: int) -> None:
    stored = stored_ns(batch)
    assert before_ns <= stored.min()
    assert stored.max() <= time.time_ns()
    assert (np.diff(stored) >= 0).all()
    for i in (0, len(batch) - 1):
        event = decode_event(batch.payload(i))
        assert event == make_event("live", event.seq, event.producer_ts_ms, 100)
        assert batch.headers(i) == b""
        assert delivery_of(batch.reply(i))[0] == 1


def test_a_subject_is_its_keys_partition(
    admin: Callable[..., None], stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, events lie in partitions where the engines do not expect their keys."""
    stream()
    Publisher(connect(), 200).publish(1, 200)
    subjects: dict[str, str] = {}

    async def read_all(js: JetStreamContext) -> None:
        for seq in range(1, 201):
            message = await js.get_msg("WIRE", seq)
            subjects[decode_event(message.data).key] = message.subject

    admin(read_all)
    assert len(subjects) == 100
    assert subjects == {key: f"wire.{partition_of(key, 4)}" for key in subjects}


def test_a_full_stream_refuses_with_its_reason(
    stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, events that the server refused count as sent, or nobody learns why."""
    stream(max_msgs=300, discard=DiscardPolicy.NEW)
    answers = Publisher(connect(), 500).publish(1, 500)
    assert answers.acked.tolist() == list(range(1, 301))
    assert sorted(nack.ticket for nack in answers.nacked) == list(range(301, 501))
    assert {(nack.code, nack.text) for nack in answers.nacked} == {(10077, "maximum messages exceeded")}


def test_a_second_publish_with_message_ids_is_recognised(
    admin: Callable[..., None], stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, what is published again after a reconnect is stored twice or counted as new."""
    stream(duplicate_window=60.0)
    publisher = Publisher(connect(), 2_000, message_ids=True)
    assert publisher.publish(1, 1_000).deduplicated == []
    answers = publisher.publish(501, 1_500)
    assert answers.acked.tolist() == list(range(501, 1_501))
    assert sorted(answers.deduplicated) == list(range(501, 1_001))
    stored: list[int] = []

    async def count(js: JetStreamContext) -> None:
        stored.append((await js.stream_info("WIRE")).state.messages)

    admin(count)
    assert stored == [1_500]


def test_headers_come_back_with_the_delivery(
    admin: Callable[..., None], stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, a run with message ids cannot be observed: payloads and stored times are misread."""
    stream()
    admin(lambda js: js.add_consumer("WIRE", ConsumerConfig(durable_name="r", ack_policy=AckPolicy.ALL)))
    before_ns = time.time_ns()
    Publisher(connect(), 50, message_ids=True).publish(1, 50)
    reader = PullReader(connect(), "WIRE", "r", batch=100)
    seen: list[tuple[int, bytes]] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(seen) < 50 and time.monotonic() < deadline:
        batch = reader.read(1.0)
        stored = stored_ns(batch)
        assert all(before_ns <= at <= time.time_ns() for at in stored.tolist())
        seen += [(decode_event(batch.payload(i)).seq, batch.headers(i)) for i in range(len(batch))]
    assert seen == [(s, b"NATS/1.0\r\nNats-Msg-Id:live-%02d\r\n\r\n" % s) for s in range(1, 51)]


def test_a_subject_without_stream_is_told(connect: Callable[[], Connection]) -> None:
    """If this fails, a producer waits for answers that nobody will send."""
    answers = Publisher(connect(), 20, subjects=("nobody.home",)).publish(1, 20)
    assert len(answers.acked) == 0
    assert [(nack.ticket, nack.code) for nack in answers.nacked] == [(seq, 503) for seq in range(1, 21)]


@pytest.mark.parametrize("reads_first", [True, False])
def test_a_payload_beyond_the_limit_names_the_limit(
    connect: Callable[[], Connection], reads_first: bool
) -> None:
    """If this fails, a too large payload looks like a broken line, and the producer dials for ever."""
    connection = connect()
    size = connection.max_payload + 1
    oversized = b"PUB nobody.home %d\r\n%s\r\n" % (size, b"x" * size)

    def provoke() -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            connection.send(oversized)
            if reads_first:
                connection.fill(1.0)
                connection.take()

    with pytest.raises(WireError, match=r"(?i)maximum payload") as told:
        provoke()
    assert not isinstance(told.value, ConnectionLost)


def test_a_wrong_password_is_refused_and_not_repeated(endpoint: NatsEndpoint) -> None:
    """If this fails, a password ends in a log, or a wrong one looks like a server that is down."""
    server = Server(endpoint.host, endpoint.port, endpoint.user, "hunter2")
    with pytest.raises(WireError, match=r"(?i)authorization violation") as told:
        Connection(server, "wire-test")
    assert not isinstance(told.value, ConnectionLost)
    assert server.address in str(told.value)
    assert "hunter2" not in str(told.value)


def test_a_deleted_consumer_ends_the_reading(
    admin: Callable[..., None], stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, an observer whose consumer is gone waits in silence until the run is over."""
    stream()
    admin(lambda js: js.add_consumer("WIRE", ConsumerConfig(durable_name="r", ack_policy=AckPolicy.ALL)))
    reader = PullReader(connect(), "WIRE", "r")
    reader.read(0.1)
    admin(lambda js: js.delete_consumer("WIRE", "r"))
    with pytest.raises(WireError, match=r"(?i)consumer deleted|503"):
        read_on(reader)


def test_a_request_larger_than_the_consumer_allows_is_an_error(
    stream: Callable[..., str], connect: Callable[[], Connection]
) -> None:
    """If this fails, the reader asks again at once and for ever: a busy loop on both sides."""
    stream()
    connection = connect()
    # nats-py does not know max_batch.
    body = b'{"stream_name":"WIRE","config":{"durable_name":"r","ack_policy":"all","max_batch":10}}'
    request = b"PUB $JS.API.CONSUMER.CREATE.WIRE.r _INBOX.made %d\r\n%s\r\n" % (len(body), body)
    connection.send(b"SUB _INBOX.made 7\r\n" + request)
    deadline = time.monotonic() + PATIENCE_S
    made = b""
    while not made and time.monotonic() < deadline:
        connection.fill(0.1)
        batch = connection.take()
        made = batch.payload(0) if len(batch) else b""
    assert b'"max_batch":10' in made
    reader = PullReader(connection, "WIRE", "r", batch=100)
    with pytest.raises(WireError, match="MaxRequestBatch"):
        read_on(reader)


def read_on(reader: PullReader) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        reader.read(0.1)
