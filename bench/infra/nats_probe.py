"""Asks a NATS server one question over its own protocol: are you there, do you know me, is JetStream on?"""

from __future__ import annotations

import json
import socket
import ssl
from typing import Any

from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError

TIMEOUT_S = 5.0


def probe_nats(endpoint: NatsEndpoint, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The server's INFO, after it took our credentials; OSError if unreachable, ServiceError if refused."""
    with socket.create_connection((endpoint.host, endpoint.port), timeout=timeout_s) as raw:
        line = raw.makefile("rb", buffering=0).readline()
        if not line.startswith(b"INFO "):
            raise ServiceError(f"{endpoint.url} is not a NATS server: it did not begin with INFO")
        info: dict[str, Any] = json.loads(line[len(b"INFO ") :])
        if info.get("tls_required") and not endpoint.tls:
            raise ServiceError(f"{endpoint.url} wants TLS: write its URL with tls://")
        if not endpoint.tls:
            _authenticate(raw, endpoint)
        else:
            with ssl.create_default_context().wrap_socket(raw, server_hostname=endpoint.host) as secured:
                _authenticate(secured, endpoint)
    if not info.get("jetstream"):
        raise ServiceError(f"{endpoint.url} runs without JetStream")
    return info


def _authenticate(connection: socket.socket, endpoint: NatsEndpoint) -> None:
    options = {"verbose": False, "pedantic": False, "lang": "probe", "version": "1", "name": "jetlag-probe"}
    if endpoint.user:
        options |= {"user": endpoint.user, "pass": endpoint.password}
    connection.sendall(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
    answers = connection.makefile("rb", buffering=0)
    while line := answers.readline():
        if line.startswith(b"PONG"):
            return
        if line.startswith(b"-ERR"):
            raise ServiceError(f"{endpoint.url} refused us: {line.decode(errors='replace').strip()}")
    raise ConnectionError(f"{endpoint.url} closed the connection")
