"""One request to the JetStream API over the wire, on a connection of its own."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost, WireError

TIMEOUT_S = 10.0


def api_request(connection: Connection, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    """The answer; WireError with JetStream's own words if it refuses. Nothing else may come on the connection."""
    inbox = f"_INBOX.{secrets.token_hex(8)}"
    data = json.dumps(body).encode()
    request = f"SUB {inbox} api\r\nUNSUB api 1\r\nPUB {subject} {inbox} {len(data)}\r\n".encode()
    connection.send(request + data + b"\r\n")
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        connection.fill(0.1)
        batch = connection.take()
        if len(batch):
            answer = json.loads(batch.payload(0) or b"{}")
            if "error" in answer:
                raise WireError(f"JetStream refused {subject}: {answer['error'].get('description')}")
            assert isinstance(answer, dict)
            return answer
    raise ConnectionLost(f"JetStream did not answer {subject} within {TIMEOUT_S:g} s")
