"""Endpoints and configuration: passwords stay inside, values cannot break out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.infra.endpoint import NatsEndpoint, TidbEndpoint, is_loopback
from bench.infra.errors import ServiceError
from bench.infra.logtail import tail_of
from bench.infra.nats_config import NatsConfig
from bench.infra.ports import free_ports
from bench.infra.private_file import write_private

SECRET = "hunter2"


@pytest.mark.parametrize(
    "endpoint",
    [
        NatsEndpoint("127.0.0.1", 4222, "u", SECRET, 8222),
        TidbEndpoint("127.0.0.1", 4000, "u", SECRET, "bench"),
    ],
)
def test_no_text_form_shows_the_password(endpoint: NatsEndpoint | TidbEndpoint) -> None:
    """pytest prints the repr of every value of a failed assertion, and CI keeps that for ever."""
    for text in (repr(endpoint), str(endpoint), f"{endpoint}", endpoint.url):
        assert SECRET not in text


def test_urls() -> None:
    """An IPv6 address without brackets reads as host and port."""
    assert NatsEndpoint("::1", 4222, "", "").url == "nats://[::1]:4222"
    assert NatsEndpoint("h", 4222, "", "", tls=True).url == "tls://h:4222"
    assert TidbEndpoint("h", 4000, "", "", "bench").url == "mysql://h:4000/bench"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
def test_loopback(host: str) -> None:
    """A local target must need no consent."""
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "0.0.0.0",
        "::",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "127.1",
        "",
        "2130706433",
    ],
)
def test_not_loopback(host: str) -> None:
    """Load would go to somebody else's machine without consent."""
    assert not is_loopback(host)


def test_a_configuration_value_cannot_break_out() -> None:
    """A temp folder with a quote in its name would change the server's settings."""
    config = NatsConfig("127.0.0.1", 1, 2, '/tmp/a"b\n}', "u", SECRET)
    assert '  store_dir: "/tmp/a\\"b\\n}"' in config.render().splitlines()
    assert SECRET not in repr(config)


def test_free_ports_are_different() -> None:
    """A server that gets one port for two listeners cannot start."""
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(1024 < port < 65536 for port in ports)


def test_private_files_are_private_from_the_start(tmp_path: Path) -> None:
    """The passwords in a configuration file would be readable by every user of the machine."""
    path = tmp_path / "conf"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, SECRET)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == SECRET


def test_log_tails_are_bounded(tmp_path: Path) -> None:
    """An error that prints a log of gigabytes is no error message."""
    log = tmp_path / "log"
    assert tail_of(log, 3) == ""
    log.write_text("".join(f"line {n}\n" for n in range(10_000)))
    assert tail_of(log, 2) == "line 9998\nline 9999"


def test_service_errors_carry_the_log() -> None:
    """The server's own words are what the user needs."""
    assert "its last words" in str(ServiceError("nats died", "its last words"))
    assert str(ServiceError("nats died")) == "nats died"
