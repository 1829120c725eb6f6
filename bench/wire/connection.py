"""One connection to a NATS server: handshake, keep-alive, bytes out in bulk, batches in."""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from bench.wire.batch import Batch
from bench.wire.errors import ConnectionLost, WireError
from bench.wire.frames import Ints, index_frames

_BUFFER_BYTES = 8 * 1024 * 1024
_SOCKET_BYTES = 4 * 1024 * 1024
_MAX_INFO_BYTES = 1_000_000
_ADDRESS_FORM = "a NATS address looks like nats://[user:password@]host[:port]"

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
        try:
            parts = urlsplit(url)
            port = parts.port or 4222
        except ValueError:
            raise ValueError(_ADDRESS_FORM) from None  # the first error quotes the url, password and all
        # A path is most likely the rest of a password with a slash in it: its start is no host name.
        if parts.scheme not in ("nats", "tls") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(_ADDRESS_FORM)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        token = ""
        if user and not password:
            user, token = "", user
        return cls(parts.hostname, port, user, password, token, parts.scheme == "tls")

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class Connection:
    """A blocking connection for one thread.

    `fill` reads what has come and notes when; `take` turns all of it into a Batch. Apart, so that
    a reader can stamp arrivals at once and pay for parsing once per many.
    """

    def __init__(
        self, server: Server, name: str, timeout_s: float = 5.0, receive_bytes: int = _SOCKET_BYTES
    ) -> None:
        """`receive_bytes`: what the kernel keeps for us unread; then the server has to wait."""
        self.server = server
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._stop = 0
        self._stamps: list[tuple[int, int]] = []
        self._pongs = 0
        self._pings_unanswered = 0
        self._mid_frame = False
        self._socket = self._dial(name, timeout_s, receive_bytes)

    def _dial(self, name: str, timeout_s: float, receive_bytes: int) -> socket.socket:
        try:
            plain = socket.create_connection((self.server.host, self.server.port), timeout=timeout_s)
        except (OSError, UnicodeError) as error:
            raise ConnectionLost(f"NATS at {self.server.address} cannot be reached: {error}") from None
        self._socket = plain
        deadline = time.monotonic() + timeout_s
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            info, rest = _read_info(plain, self.server.address, deadline)
            self._socket = self._secure(plain, info)
            self._buffer[: len(rest)] = rest
            self._stop = len(rest)
            greeting = json.dumps(self._greeting(name)).encode()
            self._socket.sendall(b"CONNECT " + greeting + b"\r\nPING\r\n")
            self._await_pong(deadline)
        except OSError as error:
            self._socket.close()
            raise ConnectionLost(f"NATS at {self.server.address} broke the handshake: {error}") from None
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self.max_payload = int(info["max_payload"])
        return self._socket

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
        self.take()  # what came together with the greeting
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
        """Hand over as much as the kernel takes now; returns how many bytes that was.

        The rest must come next: until it is out, nothing else may go, not even the answer to a PING.
        """
        try:
            count = self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            count = 0
        except OSError as error:
            raise self._lost(f"connection to NATS at {self.server.address} broke: {error}") from None
        self._mid_frame = count < len(data)
        if self._pings_unanswered:
            self._answer_pings()
        return count

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
            raise self._lost(f"connection to NATS at {self.server.address} broke: {error}") from None
        if count == 0:
            raise self._lost(f"NATS at {self.server.address} closed the connection")
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

    def unread_tail(self, size: int) -> bytes:
        """The last bytes of what has been read and not yet taken."""
        return bytes(self._buffer[max(self._start, self._stop - size) : self._stop])

    def unread_count(self, mark: bytes) -> int:
        """How often `mark` occurs in what has been read and not yet taken."""
        return self._buffer.count(mark, self._start, self._stop)

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
        if len(self._stamps) <= 1:  # all at once, as nearly always when messages come one by one
            at_ns = self._stamps[0][1] if self._stamps else time.monotonic_ns()
            return np.full(len(ends), at_ns, np.int64)
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
            self._pings_unanswered += 1
            self._answer_pings()
        elif line == b"PONG":
            self._pongs += 1
        elif line.startswith(b"-ERR"):
            raise self._said(line)
        elif line and line != b"+OK" and not line.startswith(b"INFO "):
            raise WireError(f"not a NATS line from {self.server.address}: {line[:80]!r}")

    def _answer_pings(self) -> None:
        # In the middle of a publish a PONG would become part of its payload.
        if not self._mid_frame:
            count, self._pings_unanswered = self._pings_unanswered, 0
            self.send(b"PONG\r\n" * count)

    def _said(self, line: bytes) -> WireError:
        text = line[5:].decode(errors="replace").strip("' ")
        passing = text.lower().startswith(_PASSING_ERRORS)
        return (ConnectionLost if passing else WireError)(f"NATS at {self.server.address} says: {text}")

    def _lost(self, text: str) -> WireError:
        """Why the connection is gone: what the server said last, read or not, else `text`.

        A server that refuses us says so and hangs up. Who notices the second before the first would dial
        again, only to be refused again.
        """
        with suppress(OSError):
            self._socket.setblocking(False)
            while self._stop < len(self._buffer):
                count = self._socket.recv_into(self._view[self._stop :])
                if count == 0:
                    break
                self._stop += count
        with suppress(WireError):
            for line in index_frames(self._buffer, self._start, self._stop).control:
                if line.startswith(b"-ERR"):
                    return self._said(line)
        return ConnectionLost(text)


def _read_info(plain: socket.socket, address: str, deadline: float) -> tuple[dict[str, Any], bytes]:
    """The server's greeting, and what came after it."""
    data = b""
    while b"\r\n" not in data:
        chunk = plain.recv(65536)
        data += chunk
        if not b"INFO ".startswith(data[:5]) or len(data) > _MAX_INFO_BYTES:
            raise WireError(f"the server at {address} does not speak NATS: {data[:60]!r}")
        if not chunk:
            raise ConnectionLost(f"NATS at {address} closed the connection before its greeting was complete")
        if time.monotonic() > deadline:
            raise ConnectionLost(f"NATS at {address} did not complete its greeting in time")
    line, rest = data.split(b"\r\n", 1)
    try:
        info = {"max_payload": 1024 * 1024} | json.loads(line[5:])
        int(info["max_payload"])
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise WireError(f"the server at {address} does not speak NATS: {line[:60]!r}") from None
    return info, rest
