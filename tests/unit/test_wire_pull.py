"""Pulling in bulk, against a server that says what the test wants."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from bench.wire import pull
from bench.wire.connection import Connection, Server
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.pull import PullReader

PATIENCE_S = 10.0
NOW_NS = 1_759_000_000_123_456_789


def delivery(number: int, body: bytes = b"hello", inbox: bytes = b"_INBOX.x", headers: bytes = b"") -> bytes:
    reply = b"$JS.ACK.EVENTS.dur_A_events.1.%d.%d.%d.7" % (number, number, NOW_NS + number)
    if headers:
        sizes = (len(headers), len(headers) + len(body))
        return b"HMSG %s 1 %s %d %d\r\n%s%s\r\n" % (inbox, reply, *sizes, headers, body)
    return b"MSG %s 1 %s %d\r\n%s\r\n" % (inbox, reply, len(body), body)


class Peer:
    """The server's end: what the reader has sent so far, and what it is told."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self.received = b""

    def tell(self, *parts: bytes) -> None:
        for part in parts:
            self._client.sendall(part)

    def status(self, text: str, **headers: object) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"NATS/1.0 {text}\r\n{more}\r\n".encode()
        self.tell(b"HMSG %s 1 %d %d\r\n%s\r\n" % (self.inbox, len(head), len(head), head))

    def hear(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < deadline, f"heard only {self.received[-200:]!r}"
            try:
                self.received += self._client.recv(1 << 20)
            except TimeoutError:
                continue

    @property
    def inbox(self) -> bytes:
        self.hear(lambda: b"SUB " in self.received and b" 1\r\n" in self.received)
        return self.received.split(b"SUB ")[1].split(b" ")[0]

    @property
    def requests(self) -> int:
        return self.received.count(b"PUB $JS.API.CONSUMER.MSG.NEXT.EVENTS.dur ")

    def expect_requests(self, count: int) -> None:
        self.hear(lambda: self.requests >= count)
        assert self.requests == count

    def hang_up(self) -> None:
        self._client.close()


@pytest.fixture
def peers() -> Iterator[tuple[PullReader, Peer]]:
    """A reader of 10 messages a request, two requests in flight, and its server."""
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            client, _ = listener.accept()
            client.settimeout(0.05)
            client.sendall(b"INFO {}\r\n")
            received = b""
            while not received.endswith(b"PING\r\n"):
                received += client.recv(65536)
            accepted.append(client)
            client.sendall(b"PONG\r\n")

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        connection = Connection(Server("127.0.0.1", listener.getsockname()[1]), "test")
        thread.join(PATIENCE_S)
    yield PullReader(connection, "EVENTS", "dur", batch=10, in_flight=2), Peer(accepted[0])
    connection.close()
    accepted[0].close()


def read_until(reader: PullReader, count: int, linger_s: float = 0.0) -> list[bytes]:
    """Payloads until `count` have come; with 0, until something has been read and digested."""
    payloads: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        batch = reader.read(0.1, linger_s)
        payloads += [batch.payload(i) for i in range(len(batch))]
        if len(payloads) >= count:
            return payloads
    pytest.fail(f"only {len(payloads)} of {count} messages came")


def read_on(reader: PullReader, linger_s: float = 0.0) -> None:
    """Read for as long as the test has patience: for what must raise."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        reader.read(0.1, linger_s)


# -- requests ------------------------------------------------------------------------


def test_requests_are_kept_in_flight(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, the reader starves between requests, or floods the server with them."""
    reader, peer = peers
    peer.expect_requests(2)
    assert b'{"batch":10,"expires":5000000000}' in peer.received
    peer.tell(*[delivery(i) for i in range(1, 10)])
    read_until(reader, 9)
    peer.tell(delivery(10))
    read_until(reader, 1)
    peer.expect_requests(3)
    peer.tell(*[delivery(i) for i in range(11, 31)])
    read_until(reader, 20)
    peer.expect_requests(5)


@pytest.mark.parametrize(
    "text",
    ["404 No Messages", "408 Request Timeout", "409 Leadership Change", "409 Message Size Exceeds MaxBytes"],
)
def test_a_request_that_is_over_is_made_again(peers: tuple[PullReader, Peer], text: str) -> None:
    """If this fails, a quiet second ends the reading for good, or counts as a message."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.status(text, Nats_Pending_Messages=10, Nats_Pending_Bytes=0)
    peer.tell(delivery(1, inbox=peer.inbox))
    assert read_until(reader, 1) == [b"hello"]
    peer.expect_requests(3)


def test_a_status_without_numbers_ends_all_requests(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, the reader waits for requests that the server has forgotten."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.status("409 Server Shutdown")
    peer.tell(delivery(1))
    read_until(reader, 1)
    peer.expect_requests(4)


def test_what_is_left_of_a_request_is_asked_for_again(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, half-filled requests add up until nothing is in flight."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.tell(*[delivery(i) for i in range(1, 8)])
    read_until(reader, 7)
    peer.status("408 Request Timeout", Nats_Pending_Messages=3, Nats_Pending_Bytes=0)
    peer.tell(delivery(8))
    read_until(reader, 1)
    peer.expect_requests(3)


def test_requests_the_server_forgot_are_made_again(
    peers: tuple[PullReader, Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a request lost in a restart silences the reader."""
    reader, peer = peers
    peer.expect_requests(2)
    monkeypatch.setattr(pull, "_REQUEST_LOST_S", -1.0)
    assert len(reader.read(0.01)) == 0
    peer.expect_requests(4)


def test_idle_heartbeats_are_not_messages(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, a keep-alive of the server counts as an event or as the end of a request."""
    reader, peer = peers
    peer.expect_requests(2)
    for _ in range(3):
        peer.status("100 Idle Heartbeat", Nats_Last_Consumer=1)
    peer.tell(delivery(1))
    assert read_until(reader, 1) == [b"hello"]
    assert len(reader.read(0.01)) == 0
    assert peer.requests == 2


def test_ping_is_answered_between_messages(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, the server drops the reader as stale in the middle of a run."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.tell(delivery(1), b"PING\r\n", delivery(2))
    assert read_until(reader, 2) == [b"hello", b"hello"]
    peer.hear(lambda: peer.received.endswith(b"PONG\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        "409 Consumer Deleted",
        "409 Consumer is push based",
        "409 Exceeded MaxRequestBatch of 5",
        "400 Bad Request",
        "503 No Responders Available For Request",
        "503",
    ],
)
def test_a_consumer_that_is_gone_is_an_error(peers: tuple[PullReader, Peer], text: str) -> None:
    """If this fails, the reader asks for ever for what it will never get."""
    reader, peer = peers
    peer.status(text)
    with pytest.raises(WireError, match=text) as told:
        read_on(reader)
    assert not isinstance(told.value, ConnectionLost)
    assert "EVENTS.dur" in str(told.value)


# -- messages ------------------------------------------------------------------------


def test_headers_are_told_from_statuses(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, messages with ids are thrown away as statuses."""
    reader, peer = peers
    head = b"NATS/1.0\r\nNats-Msg-Id:x-1\r\n\r\n"
    peer.tell(delivery(1, b"one", headers=head))
    peer.status("408 Request Timeout", Nats_Pending_Messages=10, Nats_Pending_Bytes=0)
    peer.tell(delivery(2, b"two"), delivery(3, b"three", headers=head))
    assert read_until(reader, 3) == [b"one", b"two", b"three"]


def test_split_deliveries_come_out_whole(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, a message cut by the network is lost, doubled or cut."""
    reader, peer = peers
    wanted = [b"%d\r\n" % i * (i % 7) for i in range(40)]
    data = b"".join(delivery(i + 1, body) for i, body in enumerate(wanted))
    payloads: list[bytes] = []
    for start in range(0, len(data), 97):
        peer.tell(data[start : start + 97])
        batch = reader.read(0.05)
        payloads += [batch.payload(i) for i in range(len(batch))]
    while len(payloads) < len(wanted):
        payloads += read_until(reader, 1)
    assert payloads == wanted


@pytest.mark.parametrize("linger_s", [0.0, 0.2])
def test_arrivals_are_those_of_the_portions(
    peers: tuple[PullReader, Peer], monkeypatch: pytest.MonkeyPatch, linger_s: float
) -> None:
    """If this fails, lingering adds to the latencies that it should leave alone."""
    reader, peer = peers
    filled = threading.Event()
    between: list[int] = []
    fill = reader.connection.fill

    def fill_and_tell(timeout_s: float) -> int:
        count = fill(timeout_s)
        if count:
            filled.set()
        return count

    def later() -> None:
        filled.wait(PATIENCE_S)
        between.append(time.monotonic_ns())
        peer.tell(delivery(2))

    monkeypatch.setattr(reader.connection, "fill", fill_and_tell)
    first_sent = time.monotonic_ns()
    peer.tell(delivery(1))
    thread = threading.Thread(target=later)
    thread.start()
    arrived: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(arrived) < 2 and time.monotonic() < deadline:
        batch = reader.read(0.5, linger_s)
        arrived += batch.arrived_ns.tolist()
    thread.join()
    assert first_sent < arrived[0] < between[0] < arrived[1] < time.monotonic_ns()


def test_lingering_ends_with_enough_bytes(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, a busy stream is read late, in ever larger portions."""
    reader, peer = peers
    peer.tell(*[delivery(i, b"x" * 1_000) for i in range(1, 20)])
    started = time.monotonic()
    while not len(reader.read(0.1, linger_s=PATIENCE_S, linger_bytes=2_000)):
        pass
    assert time.monotonic() - started < PATIENCE_S


# -- trouble -------------------------------------------------------------------------


@pytest.mark.parametrize("linger_s", [0.0, 0.2])
def test_a_closed_connection_is_told_after_the_last_message(
    peers: tuple[PullReader, Peer], linger_s: float
) -> None:
    """If this fails, messages that had come are thrown away when the server goes."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.tell(delivery(1), delivery(2))
    peer.hang_up()
    assert read_until(reader, 2, linger_s) == [b"hello", b"hello"]
    with pytest.raises(ConnectionLost, match=r"127\.0\.0\.1"):
        read_on(reader, linger_s)


@pytest.mark.parametrize("linger_s", [0.0, 0.2])
@pytest.mark.parametrize(
    ("text", "kind"), [("Authorization Violation", WireError), ("Slow Consumer", ConnectionLost)]
)
def test_an_error_of_the_server_is_told_as_it_is(
    peers: tuple[PullReader, Peer], text: str, kind: type[WireError], linger_s: float
) -> None:
    """If this fails, a revoked account looks like a broken line, and the observer dials for ever."""
    reader, peer = peers
    peer.expect_requests(2)
    peer.tell(f"-ERR '{text}'\r\n".encode())
    peer.hang_up()
    with pytest.raises(WireError, match=text) as told:
        read_on(reader, linger_s)
    assert type(told.value) is kind


def test_acks_go_to_their_replies(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, the server sends again what has been committed."""
    reader, peer = peers
    reader.ack(b"$JS.ACK.one")
    reader.ack_each([b"$JS.ACK.two", b"$JS.ACK.three"])
    reader.ack_each([])
    wanted = b"".join(b"PUB $JS.ACK.%s 4\r\n+ACK\r\n" % name for name in (b"one", b"two", b"three"))
    peer.hear(lambda: peer.received.endswith(wanted))


def test_arrival_stamps_never_go_back(peers: tuple[PullReader, Peer]) -> None:
    """If this fails, an event seems to have been read before the one in front of it."""
    reader, peer = peers
    data = b"".join(delivery(i, b"x" * 500) for i in range(1, 201))
    stamps: list[int] = []
    thread = threading.Thread(
        target=lambda: [peer.tell(data[i : i + 3_001]) for i in range(0, len(data), 3_001)]
    )
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while len(stamps) < 200 and time.monotonic() < deadline:
        stamps += reader.read(0.1, linger_s=0.001).arrived_ns.tolist()
    thread.join()
    assert len(stamps) == 200
    assert all(a <= b for a, b in pairwise(stamps))
