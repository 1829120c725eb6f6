"""Reads the URLs of external services. No error here repeats the URL: it holds a password."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from bench.infra.endpoint import NatsEndpoint, RisingWaveEndpoint, TidbEndpoint, bracketed, is_loopback
from bench.infra.errors import InfraError

NATS_VARIABLE = "JETLAG_NATS_URL"
TIDB_VARIABLE = "JETLAG_TIDB_URL"
TIDB_TLS_VARIABLE = "JETLAG_TIDB_TLS"
ARROYO_VARIABLE = "JETLAG_ARROYO_URL"
RISINGWAVE_VARIABLE = "JETLAG_RISINGWAVE_URL"


def nats_endpoint(url: str, *, allow_remote_target: bool) -> NatsEndpoint:
    parts = _split(NATS_VARIABLE, url, ("nats", "tls"), "nats://user:password@host:4222")
    if parts.path not in ("", "/"):
        raise InfraError(f"{NATS_VARIABLE} must end after the port")
    host = _host(NATS_VARIABLE, parts, allow_remote_target)
    port = _port(NATS_VARIABLE, parts, 4222)
    return NatsEndpoint(host, port, *_credentials(NATS_VARIABLE, parts), None, parts.scheme == "tls")


def tidb_endpoint(url: str, *, allow_remote_target: bool, tls: str = "") -> TidbEndpoint:
    """`tls`: on, off, or left empty: on for another machine, whose network may listen."""
    if tls not in ("", "on", "off"):
        raise InfraError(f"{TIDB_TLS_VARIABLE} is on or off")
    parts = _split(TIDB_VARIABLE, url, ("mysql",), "mysql://user:password@host:4000/bench")
    database = unquote(parts.path.removeprefix("/"))
    # The name goes into statements as an identifier: letters, digits and _ cannot end its quotes.
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", database):
        raise InfraError(
            f"{TIDB_VARIABLE} must name a database of letters, digits and _ after the port: …/bench"
        )
    host = _host(TIDB_VARIABLE, parts, allow_remote_target)
    return TidbEndpoint(
        host,
        _port(TIDB_VARIABLE, parts, 4000),
        *_credentials(TIDB_VARIABLE, parts),
        database,
        tls=tls == "on" or (tls == "" and not is_loopback(host)),
    )


def arroyo_url(url: str, *, allow_remote_target: bool) -> str:
    parts = _split(ARROYO_VARIABLE, url, ("http", "https"), "http://host:5115")
    if parts.path not in ("", "/") or parts.username:
        raise InfraError(f"{ARROYO_VARIABLE} must be a plain address, like http://host:5115")
    host = _host(ARROYO_VARIABLE, parts, allow_remote_target)
    return f"{parts.scheme}://{bracketed(host)}:{_port(ARROYO_VARIABLE, parts, 5115)}"


def risingwave_endpoint(url: str, *, allow_remote_target: bool) -> RisingWaveEndpoint:
    parts = _split(RISINGWAVE_VARIABLE, url, ("postgres", "postgresql"), "postgres://root@host:4566/dev")
    host = _host(RISINGWAVE_VARIABLE, parts, allow_remote_target)
    user, password = _credentials(RISINGWAVE_VARIABLE, parts)
    database = unquote(parts.path.removeprefix("/")) or "dev"
    port = _port(RISINGWAVE_VARIABLE, parts, 4566)
    return RisingWaveEndpoint(host, port, user or "root", password, database)


def _split(variable: str, url: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    # urlsplit drops tabs and newlines in silence: what we check would not be what was given.
    if not url.isprintable() or " " in url:
        raise InfraError(f"{variable} holds blanks or control characters; it must read like {example}")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InfraError(f"{variable} is not a URL; it must read like {example}") from None
    if parts.scheme not in schemes or not parts.netloc:
        raise InfraError(f"{variable} must read like {example}")
    if parts.query or parts.fragment or "," in parts.netloc.rpartition("@")[2]:
        raise InfraError(f"{variable} must be one plain address, like {example}")
    if parts.netloc.count("@") > 1 or "\\" in parts.netloc:
        # Parsers disagree about which @ ends the credentials, so the checked host might not be the one used.
        raise InfraError(f"{variable} has a second @ or a backslash: write them as %40 and %5C")
    return parts


def _host(variable: str, parts: SplitResult, allow_remote_target: bool) -> str:
    host = parts.hostname
    if not host or not re.fullmatch(r"[A-Za-z0-9._:%-]+", host):
        raise InfraError(f"{variable} has no valid host")
    if not is_loopback(host) and not allow_remote_target:
        raise InfraError(
            f"{variable} points at {host}, which is not this machine: load is sent there only with "
            "--allow-remote-target, and only if the target is yours"
        )
    return host


def _port(variable: str, parts: SplitResult, default: int) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise InfraError(f"{variable} has a port that is not a number from 1 to 65535")
    return port or default


def _credentials(variable: str, parts: SplitResult) -> tuple[str, str]:
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not (user + password).isprintable():
        raise InfraError(f"{variable} has control characters in its credentials")
    return user, password
