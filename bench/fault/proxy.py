"""A TCP proxy of our own between a client and a service: it can cut the link, and make it slow.

Loopback only. A cut resets every connection and every new one until it is over. (Packets that vanish without
a word look like `pause`: connections stay open and nothing comes.) A slow link has a latency each way and
a bandwidth for all connections of a direction together. Two threads a connection: a few connections, no more.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from bench.infra.ports import LOOPBACK

_CHUNK = 64 * 1024
#: What a slow link may hold on its way: the sender then waits, as it would for a real one.
_IN_TRANSIT_BYTES = 4 * 1024 * 1024
_RESET = struct.pack("ii", 1, 0)
_LOOK_S = 0.1
_CONNECT_TIMEOUT_S = 5.0


class Link:
    """What the network is like at the moment, for all connections of a proxy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latency_s = 0.0
        self._bytes_per_s: float | None = None
        self._free_at = {"up": 0.0, "down": 0.0}

    def be_slow(self, latency_s: float, bytes_per_s: float) -> None:
        with self._lock:
            self._latency_s, self._bytes_per_s = latency_s, bytes_per_s

    def be_fast(self) -> None:
        with self._lock:
            self._latency_s, self._bytes_per_s = 0.0, None
            self._free_at = {"up": 0.0, "down": 0.0}

    def due(self, direction: str, size: int, now: float) -> float:
        """When bytes that are handed over now come out at the other end."""
        with self._lock:
            if self._bytes_per_s is None:
                return now
            begins = max(now, self._free_at[direction])
            self._free_at[direction] = begins + size / self._bytes_per_s
            return self._free_at[direction] + self._latency_s


class _Pipe:
    """One direction of one connection: a reader, a writer, and the bytes in transit between them."""

    def __init__(
        self,
        source: socket.socket,
        sink: socket.socket,
        link: Link,
        direction: str,
        on_end: Callable[[], None],
    ) -> None:
        self._source, self._sink = source, sink
        self._on_end = on_end
        self._link, self._direction = link, direction
        self._transit: deque[tuple[float, bytes]] = deque()
        self._held = 0
        self._changed = threading.Condition()
        self._ended = False
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"proxy-{direction}", daemon=True).start()

    def _read(self) -> None:
        data = b"-"
        while data:
            try:
                data = self._source.recv(_CHUNK)
            except OSError:
                break
            if data:
                with self._changed:
                    self._changed.wait_for(lambda: self._held < _IN_TRANSIT_BYTES or self._ended)
                    due = self._link.due(self._direction, len(data), time.monotonic())
                    self._transit.append((due, data))
                    self._held += len(data)
                    self._changed.notify_all()
        self._end()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._transit or self._ended)
                if not self._transit:
                    break
                due, data = self._transit.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                self._sink.sendall(data)
            except OSError:
                break
            with self._changed:
                self._held -= len(data)
                self._changed.notify_all()
        self._end()
        with suppress(OSError):
            self._sink.shutdown(socket.SHUT_WR)
        self._on_end()

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Proxy:
    """Listens on a free port of this machine and passes on to `address`."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self.link = Link()
        self._cut = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server((LOOPBACK, 0), backlog=128)
        self._listener.settimeout(_LOOK_S)
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    def cut(self) -> None:
        self._cut.set()
        self._reset_all()

    def join(self) -> None:
        """The link is there again; those who were cut off connect anew."""
        self._cut.clear()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(5.0)
        self._listener.close()
        self._reset_all()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if self._cut.is_set():
                _reset(client)
            else:
                self._pass_on(client)

    def _pass_on(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._address, timeout=_CONNECT_TIMEOUT_S)
        except OSError:
            _reset(client)  # as the service itself would have refused it
            return
        for end in (client, server):
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open += [client, server]
        directions_left = iter((1, 0))

        def ended() -> None:
            with self._lock:
                if next(directions_left):
                    return
                self._open = [end for end in self._open if end not in (client, server)]
            for end in (client, server):
                end.close()

        _Pipe(client, server, self.link, "up", ended)
        _Pipe(server, client, self.link, "down", ended)
        if self._cut.is_set():  # it was cut while we connected
            self._reset_all()

    def _reset_all(self) -> None:
        with self._lock:
            ends, self._open = self._open, []
        for end in ends:
            _reset(end)


def _reset(end: socket.socket) -> None:
    """Close at once with a reset: what is under way is gone."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads from it
    end.close()
