"""One connection to a NATS server: handshake, keep-alive, bytes out in bulk, batches in."""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from bench.wire.batch import Batch
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.frames import Ints, index_frames

_BUFFER_BYTES = 8 * 1024 * 1024
_SOCKET_BYTES = 4 * 1024 * 1024

#: The server closes the connection after these and a new one may be accepted.
_PASSING_ERRORS = ("stale connection", "slow consumer", "server shutdown", "maximum connections")


@dataclass(frozen=True)
class Server:
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    tls: bool = False
    tls_ca_file: str = ""

    @classmethod
    def from_url(cls, url: str) -> Server:
        parts = urlsplit(url)
        if parts.scheme not in ("nats", "tls") or not parts.hostname:
            raise ValueError("a NATS address looks like nats://[user:password@]host[:port]")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        token = ""
        if user and not password:
            user, token = "", user
        return cls(parts.hostname, parts.port or 4222, user, password, token, parts.scheme == "tls")

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class Connection:
    """A blocking connection for one thread.

    `fill` reads what has come and notes when; `take` turns all of it into a Batch. Apart, so that
    a reader can stamp arrivals at once and pay for parsing once per many.
    """

    def __init__(self, server: Server, name: str, timeout_s: float = 5.0) -> None:
        self.server = server
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._stop = 0
        self._stamps: list[tuple[int, int]] = []
        self._pongs = 0
        self._socket = self._dial(name, timeout_s)

    def _dial(self, name: str, timeout_s: float) -> socket.socket:
        try:
            plain = socket.create_connection((self.server.host, self.server.port), timeout=timeout_s)
        except OSError as error:
            raise ConnectionLost(f"NATS at {self.server.address} cannot be reached: {error}") from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            plain.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BYTES)
        try:
            info, rest = _read_info(plain)
            secured = self._secure(plain, info)
            self._buffer[: len(rest)] = rest
            self._stop = len(rest)
            self._socket = secured
            secured.sendall(b"CONNECT " + json.dumps(self._greeting(name)).encode() + b"\r\nPING\r\n")
            self._await_pong(time.monotonic() + timeout_s)
        except OSError as error:
            plain.close()
            raise ConnectionLost(f"NATS at {self.server.address} broke the handshake: {error}") from None
        except BaseException:
            plain.close()
            raise
        secured.setblocking(False)
        self.max_payload = int(info.get("max_payload", 1024 * 1024))
        return secured

    def _secure(self, plain: socket.socket, info: dict[str, Any]) -> socket.socket:
        if not (self.server.tls or info.get("tls_required")):
            return plain
        context = ssl.create_default_context(cafile=self.server.tls_ca_file or None)
        return context.wrap_socket(plain, server_hostname=self.server.host)

    def _greeting(self, name: str) -> dict[str, Any]:
        greeting: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "headers": True,
            "no_responders": True,
            "protocol": 1,
            "lang": "python",
            "version": "jetlag",
            "name": name,
        }
        if self.server.token:
            greeting["auth_token"] = self.server.token
        elif self.server.user:
            greeting |= {"user": self.server.user, "pass": self.server.password}
        return greeting

    def _await_pong(self, deadline: float) -> None:
        while self._pongs == 0:
            if time.monotonic() > deadline:
                raise ConnectionLost(f"NATS at {self.server.address} did not answer PING")
            self.fill(0.1)
            self.take()

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    # -- out ---------------------------------------------------------------

    def try_send(self, data: memoryview | bytes) -> int:
        """Hand over as much as the kernel takes now; returns how many bytes that was."""
        try:
            return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0
        except OSError as error:
            raise ConnectionLost(f"connection to NATS at {self.server.address} broke: {error}") from None

    def send(self, data: bytes, timeout_s: float = 10.0) -> None:
        """Send all of `data`, waiting for the kernel where needed."""
        view = memoryview(data)
        deadline = time.monotonic() + timeout_s
        while len(view):
            view = view[self.try_send(view) :]
            if len(view) and not self.wait_writable(0.05) and time.monotonic() > deadline:
                raise ConnectionLost(f"NATS at {self.server.address} took no data for {timeout_s:g} s")

    def wait_writable(self, timeout_s: float) -> bool:
        return bool(select.select([], [self._socket], [], timeout_s)[1])

    # -- in ----------------------------------------------------------------

    def fill(self, timeout_s: float) -> int:
        """Read once, waiting at most `timeout_s`; returns how many bytes came.

        The batch taken before is no longer valid: its place in the buffer is used again.
        """
        self._compact()
        if self._stop == len(self._buffer):
            return 0  # full of what has not been taken
        try:
            if timeout_s > 0 and not self._readable(timeout_s):
                return 0
            count = self._socket.recv_into(self._view[self._stop :])
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError, TimeoutError):
            return 0
        except OSError as error:
            raise ConnectionLost(f"connection to NATS at {self.server.address} broke: {error}") from None
        if count == 0:
            raise ConnectionLost(f"NATS at {self.server.address} closed the connection")
        self._stop += count
        self._stamps.append((self._stop, time.monotonic_ns()))
        return count

    def _readable(self, timeout_s: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], timeout_s)[0])

    @property
    def unread_bytes(self) -> int:
        """How much has been read and not yet taken."""
        return self._stop - self._start

    def take(self) -> Batch:
        """All complete messages read so far."""
        index = index_frames(self._buffer, self._start, self._stop)
        if index.consumed == 0 and self._stop == len(self._buffer):
            raise WireError(f"a message larger than {len(self._buffer)} bytes")
        self._start = index.consumed
        arrived = self._arrivals(index.ends)
        self._stamps = self._stamps[-1:] if self._start < self._stop else []
        for line in index.control:
            self._on_control(line)
        return Batch(self._buffer, index, arrived)

    def _arrivals(self, ends: Ints) -> Ints:
        if not self._stamps:
            return np.full(len(ends), time.monotonic_ns(), np.int64)
        stops = np.array([stop for stop, _ in self._stamps], np.int64)
        times = np.array([at for _, at in self._stamps], np.int64)
        return times[np.minimum(np.searchsorted(stops, ends), len(times) - 1)]

    def _compact(self) -> None:
        """Move the incomplete rest to the front: a buffer that starts over stays in the cache."""
        if self._start == 0:
            return
        rest = self._stop - self._start
        self._buffer[:rest] = self._buffer[self._start : self._stop]
        self._stamps = [(stop - self._start, at) for stop, at in self._stamps]
        self._start, self._stop = 0, rest

    def _on_control(self, line: bytes) -> None:
        if line == b"PING":
            self.send(b"PONG\r\n")
        elif line == b"PONG":
            self._pongs += 1
        elif line.startswith(b"-ERR"):
            text = line[5:].decode(errors="replace").strip("' ")
            passing = text.lower().startswith(_PASSING_ERRORS)
            raise (ConnectionLost if passing else WireError)(f"NATS at {self.server.address} says: {text}")
        elif line and line != b"+OK" and not line.startswith(b"INFO "):
            raise WireError(f"not a NATS line: {line[:80]!r}")


def _read_info(plain: socket.socket) -> tuple[dict[str, Any], bytes]:
    data = b""
    while b"\r\n" not in data:
        chunk = plain.recv(65536)
        if not chunk or len(data) > 1_000_000:
            raise WireError("the server at this address does not speak NATS")
        data += chunk
    line, rest = data.split(b"\r\n", 1)
    if not line.startswith(b"INFO "):
        raise WireError(f"the server at this address does not speak NATS: {line[:60]!r}")
    info: dict[str, Any] = json.loads(line[5:])
    return info, rest
