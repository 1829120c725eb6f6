"""Where a service answers and with which credentials; no text form of an endpoint shows its password."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


def bracketed(host: str) -> str:
    """An IPv6 address needs brackets in a URL, or its colons would read as the port's."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Literal addresses and `localhost` only: a name that resolves to loopback today may not tomorrow."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class NatsEndpoint:
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    monitor_port: int | None = None
    tls: bool = False

    @property
    def url(self) -> str:
        return f"{'tls' if self.tls else 'nats'}://{bracketed(self.host)}:{self.port}"


@dataclass(frozen=True)
class TidbEndpoint:
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str = "bench"
    #: Speak TLS only, and only with a server whose certificate is good for this host.
    tls: bool = False

    def tls_options(self) -> dict[str, Any]:
        """For PyMySQL, whose default takes TLS if offered and believes any certificate."""
        return {"ssl": ssl.create_default_context()} if self.tls else {}

    @property
    def url(self) -> str:
        return f"mysql://{bracketed(self.host)}:{self.port}/{self.database}"


@dataclass(frozen=True)
class RisingWaveEndpoint:
    host: str
    port: int
    user: str = "root"
    password: str = field(default="", repr=False)
    database: str = "dev"

    @property
    def url(self) -> str:
        return f"postgres://{bracketed(self.host)}:{self.port}/{self.database}"


def secrets_of(*endpoints: NatsEndpoint | TidbEndpoint | None) -> list[str]:
    """What must not show in a log, as it was given and as it stands in a URL."""
    passwords = [endpoint.password for endpoint in endpoints if endpoint is not None and endpoint.password]
    return [spelling for password in passwords for spelling in (password, quote(password, safe=""))]
