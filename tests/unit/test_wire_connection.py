"""One connection: the handshake and its failures, keep-alive and errors."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bench.wire.connection import Connection, Server
from bench.wire.errors import ConnectionLost, WireError

SECRET = "hunter2"
INFO = b'INFO {"server_id":"X","max_payload":2048}\r\n'
PATIENCE_S = 10.0
Script = Callable[[socket.socket], None]


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    """Listens on loopback and runs a script with each client that connects."""
    stack = contextlib.ExitStack()
    threads: list[threading.Thread] = []

    def start(script: Script) -> Server:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def accept() -> None:
            with contextlib.suppress(OSError):
                client, _ = listener.accept()
                client.settimeout(PATIENCE_S)
                with client:
                    script(client)

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        return Server("127.0.0.1", listener.getsockname()[1], "me", SECRET)

    yield start
    stack.close()
    for thread in threads:
        thread.join(PATIENCE_S)


def greet(client: socket.socket, said: list[dict[str, object]] | None = None) -> None:
    """A server's side of the handshake; notes what the client said of itself."""
    client.sendall(INFO)
    received = b""
    while not received.endswith(b"PING\r\n"):
        received += client.recv(65536)
    if said is not None:
        said.append(json.loads(received.split(b"\r\n")[0].removeprefix(b"CONNECT ")))
    client.sendall(b"PONG\r\n")


# -- handshake -----------------------------------------------------------------------


def test_the_handshake_carries_the_account(serve: Callable[[Script], Server]) -> None:
    """If this fails, a server with accounts refuses every driver."""
    said: list[dict[str, object]] = []
    connection = Connection(serve(lambda client: greet(client, said)), "driver")
    connection.close()
    assert connection.max_payload == 2048
    wanted = {"user": "me", "pass": SECRET, "name": "driver", "headers": True, "no_responders": True}
    assert wanted.items() <= said[0].items()
    assert said[0]["verbose"] is False


def test_a_token_goes_alone(serve: Callable[[Script], Server]) -> None:
    """If this fails, servers with token authentication refuse every driver."""
    said: list[dict[str, object]] = []
    server = serve(lambda client: greet(client, said))
    Connection(Server(server.host, server.port, token=SECRET), "driver").close()
    assert said[0]["auth_token"] == SECRET
    assert "pass" not in said[0]


def say(*parts: bytes) -> Script:
    """Sends parts, then reads until the client has gone away, so that nothing sent is lost to a reset."""

    def script(client: socket.socket) -> None:
        for part in parts:
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass

    return script


@pytest.mark.parametrize(
    ("parts", "kind", "text"),
    [
        ((b"HTTP/1.1 400 Bad Request\r\n\r\n",), WireError, "does not speak NATS"),
        ((b"\x15\x03\x01",), WireError, "does not speak NATS"),
        ((b"INFO not json\r\n",), WireError, "does not speak NATS"),
        ((b"INFO [1]\r\n",), WireError, "does not speak NATS"),
        ((b'INFO {"max_payload":"much"}\r\n',), WireError, "does not speak NATS"),
        ((b"INFO " + b"[" * 100_000 + b"\r\n",), WireError, "does not speak NATS"),
        ((b"INFO " + b"x" * 1_100_000,), WireError, "does not speak NATS"),
        ((), ConnectionLost, "closed the connection"),
        ((b"INF",), ConnectionLost, "closed the connection"),
        ((INFO,), ConnectionLost, "closed the connection"),
        ((INFO, b"-ERR 'Authorization Violation'\r\n"), WireError, "Authorization Violation"),
        ((INFO, b"-ERR 'maximum connections exceeded'\r\n"), ConnectionLost, "maximum connections"),
        ((INFO, b"HELLO\r\n"), WireError, "not a NATS line"),
    ],
)
def test_a_failed_handshake_says_where_and_why(
    serve: Callable[[Script], Server], parts: tuple[bytes, ...], kind: type[WireError], text: str
) -> None:
    """If this fails, a wrong port or password ends in a riddle, or is dialled again for ever."""
    server = serve(say(*parts))
    with pytest.raises(WireError, match=text) as told:
        Connection(server, "driver")
    assert type(told.value) is kind
    assert server.address in str(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("said", [b"", b"INFO", INFO])
def test_a_silent_server_is_given_up(serve: Callable[[Script], Server], said: bytes) -> None:
    """If this fails, a port that accepts and says nothing hangs the run."""
    gone = threading.Event()

    def script(client: socket.socket) -> None:
        client.sendall(said)
        gone.wait(PATIENCE_S)

    server = serve(script)
    with pytest.raises(ConnectionLost, match=server.address):
        Connection(server, "driver", timeout_s=0.2)
    gone.set()


def test_a_server_that_dribbles_is_given_up(serve: Callable[[Script], Server]) -> None:
    """If this fails, a byte now and then keeps the handshake waiting for ever."""
    gone = threading.Event()

    def script(client: socket.socket) -> None:
        for byte in INFO[:5] + b" " * 1_000:
            if gone.wait(0.05):
                return
            client.sendall(bytes([byte]))

    with pytest.raises(ConnectionLost, match="greeting"):
        Connection(serve(script), "driver", timeout_s=0.3)
    gone.set()


def test_a_dead_port_is_a_lost_connection() -> None:
    """If this fails, a server that is down looks like anything but that."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionLost, match=rf"127\.0\.0\.1:{port} cannot be reached"):
        Connection(Server("127.0.0.1", port, "me", SECRET), "driver")


def test_a_name_that_cannot_be_a_host() -> None:
    """If this fails, a mistyped host ends in a riddle about encodings."""
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        Connection(Server("a..b", 4222), "driver")


# -- keep-alive and errors -------------------------------------------------------------


def converse(connection: Connection, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, "it never happened"
        connection.fill(0.05)
        connection.take()


def test_ping_is_answered(serve: Callable[[Script], Server]) -> None:
    """If this fails, the server drops every driver after some minutes as stale."""
    answered, leave = threading.Event(), threading.Event()

    def script(client: socket.socket) -> None:
        greet(client)
        client.sendall(b"PING\r\nPI")
        client.sendall(b"NG\r\n+OK\r\nINFO {}\r\n")
        received = b""
        while len(received) < 12:
            received += client.recv(100)
        assert received == b"PONG\r\n" * 2
        answered.set()
        leave.wait(PATIENCE_S)

    connection = Connection(serve(script), "driver")
    converse(connection, answered.is_set)
    leave.set()
    connection.close()


def test_no_pong_inside_a_publish(serve: Callable[[Script], Server]) -> None:
    """If this fails, a keep-alive during a burst becomes part of an event, and the server hangs up."""
    body = bytes(range(256)) * 16_384
    frame = b"PUB a %d\r\n%s\r\n" % (len(body), body)
    wanted = frame * 4 + b"PONG\r\n"
    received = bytearray()
    stuffed, done = threading.Event(), threading.Event()

    def script(client: socket.socket) -> None:
        greet(client)
        client.sendall(b"PING\r\n")
        stuffed.wait(PATIENCE_S)
        while len(received) < len(wanted) and (chunk := client.recv(1 << 20)):
            received.extend(chunk)
        done.set()

    connection = Connection(serve(script), "driver")
    view = memoryview(frame * 4)
    view = view[connection.try_send(view) :]
    assert len(view), "the kernel took all: there is no middle to test"
    deadline = time.monotonic() + PATIENCE_S
    while not connection.fill(0.05) and time.monotonic() < deadline:
        pass
    connection.take()
    stuffed.set()
    while len(view) and time.monotonic() < deadline:
        connection.wait_writable(0.05)
        view = view[connection.try_send(view) :]
    done.wait(PATIENCE_S)
    connection.close()
    assert bytes(received) == wanted


@pytest.mark.parametrize("way", ["fill", "send"])
def test_the_servers_last_words_are_the_error(serve: Callable[[Script], Server], way: str) -> None:
    """If this fails, a refusal that will never change is taken for a broken line and dialled again."""
    connected = threading.Event()

    def script(client: socket.socket) -> None:
        greet(client)
        connected.wait(PATIENCE_S)
        client.sendall(b"MSG a 1 5\r\nhello\r\n-ERR 'Maximum Payload Violation'\r\n")

    connection = Connection(serve(script), "driver")
    connected.set()
    deadline = time.monotonic() + PATIENCE_S

    def go_on() -> None:
        while time.monotonic() < deadline:
            connection.fill(0.05) if way == "fill" else connection.send(b"PUB a 1\r\nx\r\n")

    with pytest.raises(WireError, match="Maximum Payload Violation") as told:
        go_on()
    assert type(told.value) is WireError
    connection.close()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Stale Connection", ConnectionLost),
        ("Slow Consumer", ConnectionLost),
        ("Server Shutdown", ConnectionLost),
        ("Permissions Violation for Publish to x", WireError),
        ("Unknown Protocol Operation", WireError),
    ],
)
def test_passing_errors_are_told_from_lasting_ones(
    serve: Callable[[Script], Server], text: str, kind: type[WireError]
) -> None:
    """If this fails, a driver gives up on a restart, or dials for ever against a refusal."""
    connected = threading.Event()

    def script(client: socket.socket) -> None:
        greet(client)
        connected.wait(PATIENCE_S)
        client.sendall(f"-ERR '{text}'\r\n".encode())

    connection = Connection(serve(script), "driver")
    connected.set()
    with pytest.raises(WireError, match=text) as told:
        converse(connection, lambda: False)
    assert type(told.value) is kind
    connection.close()
