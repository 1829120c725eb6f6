"""One request to the JetStream API over the wire, on a connection of its own."""

from __future__ import annotations

import base64
import json
import secrets
import time
from typing import Any

from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost, WireError

TIMEOUT_S = 3.0
ATTEMPTS = 5


def api_request(
    connection: Connection, subject: str, body: dict[str, Any], attempts: int = ATTEMPTS
) -> dict[str, Any]:
    """The answer; WireError with JetStream's own words if it refuses. Nothing else may come meanwhile."""
    headers, payload = _ask(connection, subject, body, attempts)
    answer = json.loads(payload or b"{}")
    assert isinstance(answer, dict)
    if "error" in answer or headers:
        why = answer["error"].get("description") if "error" in answer else headers.split(b"\r\n")[0].decode()
        raise WireError(f"JetStream refused {subject}: {why}")
    return answer


def stored_payload(connection: Connection, stream: str, place: int) -> bytes | None:
    """What the stream holds at this sequence; None if it is gone."""
    try:
        answer = api_request(connection, f"$JS.API.STREAM.MSG.GET.{stream}", {"seq": place})
    except ConnectionLost:
        raise
    except WireError:
        return None
    return base64.b64decode(answer["message"].get("data", ""))


def api_status(connection: Connection, subject: str, body: dict[str, Any]) -> bytes:
    """The headers of the answer, where its status stands."""
    return _ask(connection, subject, body)[0]


def _ask(
    connection: Connection, subject: str, body: dict[str, Any], attempts: int = ATTEMPTS
) -> tuple[bytes, bytes]:
    """(headers, payload) of the answer; asked again when none comes.

    In a cluster the answer may overtake the news that somebody waits for it, and is dropped then. So requests
    must be ones that can be made twice: a consumer has a name.
    """
    data = json.dumps(body).encode()
    for _ in range(attempts):
        # A subscription number of its own: an answer "503" does not count towards UNSUB's limit, so the old
        # one may still be there, and a server ignores a second SUB with the same number.
        sid = secrets.token_hex(8)
        inbox = f"_INBOX.{sid}"
        request = f"SUB {inbox} {sid}\r\nUNSUB {sid} 1\r\nPUB {subject} {inbox} {len(data)}\r\n".encode()
        connection.send(request + data + b"\r\n")
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            connection.fill(0.1)
            batch = connection.take()
            if len(batch):
                return batch.headers(0), batch.payload(0)
    raise ConnectionLost(f"JetStream did not answer {subject}, asked {attempts} times")
