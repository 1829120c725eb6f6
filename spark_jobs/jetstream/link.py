"""One connection to JetStream per process, and requests to its API over it.

Spark reuses its Python workers, so a connection kept in this module serves many micro-batches: a new one
for each would cost a handshake and, on the server, a subscription each time.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable
from typing import Any, TypeVar

from bench.wire.batch import Batch
from bench.wire.connection import Connection, Server
from bench.wire.errors import ConnectionLost, WireError
from spark_jobs.jetstream.errors import JetStreamError, MissingStreamError
from spark_jobs.jetstream.options import LinkOptions

API_TIMEOUT_S = 5.0
STREAM_NOT_FOUND = 10059
_RETRY_PAUSE_S = 0.25
_T = TypeVar("_T")
_links: dict[tuple[int, tuple[Server, ...]], Link] = {}


class NotNowError(ConnectionLost):
    """The server is there but cannot answer yet: JetStream is starting, or a leader is being elected."""


class Link:
    """A connection with an inbox of its own; every request has its own subject under it."""

    def __init__(self, servers: tuple[Server, ...], connect_timeout_ms: int) -> None:
        self.connection = _dial(servers, connect_timeout_ms / 1000)
        self._inbox = f"_INBOX.{secrets.token_hex(8)}"
        self._requests = 0
        self.connection.send(b"SUB %s.* 1\r\n" % self._inbox.encode())

    def new_inbox(self) -> str:
        return f"_INBOX.{secrets.token_hex(8)}"

    def request(self, subject: str, body: dict[str, Any], timeout_s: float = API_TIMEOUT_S) -> dict[str, Any]:
        """Ask the JetStream API; messages for anyone else that come meanwhile are dropped."""
        self._requests += 1
        reply = f"{self._inbox}.{self._requests}"
        data = json.dumps(body).encode()
        self.connection.send(
            b"PUB $JS.API.%s %s %d\r\n%s\r\n" % (subject.encode(), reply.encode(), len(data), data)
        )
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            if not self.connection.fill(left):
                continue
            batch = self.connection.take()
            for i in range(len(batch)):
                if batch.subject(i) == reply:
                    return _answer(batch, i, subject)
        raise NotNowError(f"JetStream at {self.connection.server.address} did not answer {subject}")

    def close(self) -> None:
        self.connection.close()


def _answer(batch: Batch, i: int, subject: str) -> dict[str, Any]:
    if batch.headers(i).startswith(b"NATS/1.0 503"):
        raise NotNowError(f"nobody answers $JS.API.{subject}: JetStream is off or not ready")
    answer: dict[str, Any] = json.loads(batch.payload(i))
    error = answer.get("error")
    if error is None:
        return answer
    code, text = int(error.get("err_code", 0)), str(error.get("description"))
    if code == STREAM_NOT_FOUND:
        raise MissingStreamError(f"stream {subject.split('.')[2]} does not exist on this server", code)
    if int(error.get("code", 0)) == 503:
        raise NotNowError(f"JetStream says: {text}")
    raise JetStreamError(f"JetStream refused {'.'.join(subject.split('.')[:3])}: {text}", code)


def _dial(servers: tuple[Server, ...], timeout_s: float) -> Connection:
    problems: list[str] = []
    for server in servers:
        try:
            return Connection(server, f"spark-{os.getpid()}", timeout_s)
        except ConnectionLost as error:
            problems.append(str(error))
    raise ConnectionLost("; ".join(problems))


def link_to(options: LinkOptions) -> Link:
    """This process's link; a fork does not share its parent's socket."""
    key = (os.getpid(), options.servers)
    if key not in _links:
        _links[key] = Link(options.servers, options.connect_timeout_ms)
    return _links[key]


def drop_link(options: LinkOptions) -> None:
    link = _links.pop((os.getpid(), options.servers), None)
    if link is not None:
        with contextlib.suppress(OSError):
            link.close()


def with_link(options: LinkOptions, use: Callable[[Link], _T]) -> _T:
    """Run `use` with the link; a lost server is tried again, with a new connection, until the bound is
    reached.
    """
    deadline = time.monotonic() + options.retry_timeout_ms / 1000
    while True:
        try:
            return use(link_to(options))
        except ConnectionLost as error:
            drop_link(options)
            if time.monotonic() >= deadline:
                raise JetStreamError(f"gave up after {options.retry_timeout_ms} ms: {error}") from None
            time.sleep(_RETRY_PAUSE_S)
        except JetStreamError:
            raise  # the answer has been read: the link is clean
        except WireError as error:
            drop_link(options)
            raise JetStreamError(str(error)) from None
        except BaseException:
            drop_link(options)
            raise
