"""The proxy between a client and a service: bytes pass unchanged, a cut is a cut, slow is slow."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing, suppress

import psutil
import pytest

from bench.fault.proxy import Link, Proxy


@pytest.fixture
def echo():
    """A service that sends back what it gets; returns its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while data := connection.recv(65536):
                connection.sendall(data)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()
    listener.close()


@pytest.fixture
def proxy(echo):
    with closing(Proxy(echo)) as proxy:
        yield proxy


def dial(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def round_trip(connection: socket.socket, data: bytes) -> bytes:
    sender = threading.Thread(target=connection.sendall, args=(data,), daemon=True)
    sender.start()
    got = b""
    while len(got) < len(data):
        part = connection.recv(65536)
        if not part:
            break
        got += part
    return got


def test_bytes_pass_unchanged(proxy) -> None:
    """If this fails, the proxy and not the fault is what a run with a fault measures."""
    data = bytes(range(256)) * 4096
    with dial(proxy) as connection:
        assert round_trip(connection, data) == data


def test_it_listens_on_loopback_only(proxy) -> None:
    """If this fails, a run opens the service to the network."""
    ours = [c for c in psutil.Process().net_connections("tcp") if c.laddr.port == proxy.port]
    assert {c.laddr.ip for c in ours if c.status == "LISTEN"} == {"127.0.0.1"}


def test_a_cut_ends_connections_and_refuses_new_ones(proxy) -> None:
    """If this fails, a client never notices that its link was cut, and the cell measures nothing."""
    with dial(proxy) as connection:
        assert round_trip(connection, b"before") == b"before"
        proxy.cut()
        with suppress(ConnectionError):
            assert connection.recv(10) == b""
    with suppress(ConnectionError), dial(proxy) as connection:
        connection.sendall(b"hello")
        assert connection.recv(10) == b""
    proxy.join()
    with dial(proxy) as connection:
        assert round_trip(connection, b"after") == b"after"


def test_a_service_that_is_gone_is_gone_behind_the_proxy_too(echo) -> None:
    """If this fails, a killed service looks alive through the proxy, and its clients wait for ever."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = nobody.getsockname()
    with closing(Proxy(address)) as proxy, suppress(ConnectionError), dial(proxy) as connection:
        assert connection.recv(10) == b""


def test_a_slow_link_takes_its_time_and_keeps_the_order(proxy) -> None:
    """If this fails, `slow` is a fault in name only, or it reorders a protocol's bytes."""
    data = bytes(range(256)) * 1024
    with dial(proxy) as connection:
        proxy.link.be_slow(0.05, 2_000_000)
        began = time.monotonic()
        assert round_trip(connection, data) == data
        # Both ways: latency twice, and 256 KiB at 2 MB/s at least once.
        assert time.monotonic() - began >= 2 * 0.05 + len(data) / 2_000_000
        proxy.link.be_fast()
        assert round_trip(connection, b"fast again") == b"fast again"


def test_a_link_s_bandwidth_is_shared() -> None:
    """If this fails, two connections together get twice the line."""
    link = Link()
    link.be_slow(0.5, 100.0)
    assert link.due("up", 50, 10.0) == pytest.approx(11.0)
    assert link.due("up", 50, 10.0) == pytest.approx(11.5)
    assert link.due("down", 50, 10.0) == pytest.approx(11.0)
    link.be_fast()
    assert link.due("up", 10**9, 10.0) == 10.0


def test_closed_connections_leave_no_file_and_no_thread(proxy) -> None:
    """If this fails, a long run with a proxy before its database runs out of files."""
    with dial(proxy) as connection:
        round_trip(connection, b"warm")
    files, threads = psutil.Process().num_fds(), threading.active_count()
    for _ in range(20):
        with dial(proxy) as connection:
            round_trip(connection, b"x")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if psutil.Process().num_fds() <= files and threading.active_count() <= threads:
            return
        time.sleep(0.02)
    pytest.fail(f"{psutil.Process().num_fds() - files} files, {threading.active_count() - threads} threads")
