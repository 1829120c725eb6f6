"""External targets: hostile or careless URLs are refused in one line that never holds the password."""

from __future__ import annotations

import ssl

import pytest

from bench.bento.config import tidb_dsn
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.errors import InfraError, ServiceError
from bench.infra.external import ExternalNats, ExternalTidb
from bench.infra.external_url import nats_endpoint, tidb_endpoint
from bench.infra.ports import free_ports

SECRET = "hunter2"


def test_good_urls_are_read() -> None:
    """A password with an @ or a slash in it is common, and percent-encoded in a URL."""
    nats = nats_endpoint(f"tls://u%40x:{SECRET}%2F@127.0.0.1:4333", allow_remote_target=False)
    assert nats == NatsEndpoint("127.0.0.1", 4333, "u@x", f"{SECRET}/", None, True)
    tidb = tidb_endpoint(f"mysql://u:{SECRET}@[::1]/bench", allow_remote_target=False)
    assert tidb == TidbEndpoint("::1", 4000, "u", SECRET, "bench")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hunter2",
        f"http://u:{SECRET}@127.0.0.1:4222",
        f"nats://u:{SECRET}@:4222",
        f"nats://u:{SECRET}@127.0.0.1:0",
        f"nats://u:{SECRET}@127.0.0.1:99999",
        f"nats://u:{SECRET}@127.0.0.1:{SECRET}",
        f"nats://u:{SECRET}@127.0.0.1:4222/path",
        f"nats://u:{SECRET}@127.0.0.1:4222?x={SECRET}",
        f"nats://u:{SECRET}@127.0.0.1:4222,10.0.0.1:4222",
        f"nats://u:{SECRET}@127.0.0.1\n:4222",
        f"nats://u:{SECRET}@127.0.0.1 :4222",
        f"nats://u:{SECRET}%0d%0aPUB@127.0.0.1:4222",
        f"nats://u:{SECRET}@[::1:4222",
        f"nats://u:{SECRET}@127.0.0.1\\@10.0.0.1:4222",
        f"nats://u:{SECRET}@127.0.0.1;rm:4222",
    ],
)
def test_bad_nats_urls_are_refused(url: str) -> None:
    """A URL that is half understood sends load to a place the user did not mean."""
    with pytest.raises(InfraError, match="JETLAG_NATS_URL") as caught:
        nats_endpoint(url, allow_remote_target=True)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("database", ["", "/", "/a/b", "/a`b", "/a%60;DROP", "/bench?ssl=1", "/" + "x" * 65])
def test_bad_databases_are_refused(database: str) -> None:
    """The name becomes part of SQL statements."""
    with pytest.raises(InfraError, match="JETLAG_TIDB_URL") as caught:
        tidb_endpoint(f"mysql://u:{SECRET}@127.0.0.1:4000{database}", allow_remote_target=True)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "example.com", "localhost.example.com", "[2001:db8::1]", "0.0.0.0"]
)
def test_remote_targets_need_consent(host: str) -> None:
    """A benchmark fired at a machine that is not the user's is an attack."""
    url = f"nats://u:{SECRET}@{host}:4222"
    with pytest.raises(InfraError, match="--allow-remote-target") as caught:
        nats_endpoint(url, allow_remote_target=False)
    assert SECRET not in str(caught.value)
    assert nats_endpoint(url, allow_remote_target=True).port == 4222
    with pytest.raises(InfraError, match="--allow-remote-target"):
        tidb_endpoint(f"mysql://u:{SECRET}@{host}:4000/bench", allow_remote_target=False)


def test_unreachable_services_are_told_in_one_line() -> None:
    """A wrong address must be told as such, at once, without the credentials."""
    port, other = free_ports(2)
    nats = ExternalNats(NatsEndpoint("127.0.0.1", port, "u", SECRET))
    tidb = ExternalTidb(TidbEndpoint("127.0.0.1", other, "u", SECRET))
    for service, text in ((nats, f"nats://127.0.0.1:{port}"), (tidb, f"mysql://127.0.0.1:{other}/bench")):
        with pytest.raises(ServiceError, match=text) as caught:
            service.wait_ready(timeout_s=5)
        assert SECRET not in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", ["kill", "restart", "pause", "resume"])
def test_external_services_are_not_harmed(fault: str) -> None:
    """A fault test must not take down a server that others use."""
    service = ExternalNats(NatsEndpoint("127.0.0.1", 1, "u", SECRET))
    with pytest.raises(ServiceError, match="external"):
        getattr(service, fault)()
    assert service.pids() == []


@pytest.mark.parametrize(
    ("host", "tls", "wanted"),
    [
        ("127.0.0.1", "", False),
        ("127.0.0.1", "on", True),
        ("db.example", "", True),
        ("db.example", "off", False),
        ("db.example", "on", True),
    ],
)
def test_a_database_elsewhere_is_spoken_to_in_tls(host: str, tls: str, wanted: bool) -> None:
    """A password would cross a network in clear without anybody having asked for that."""
    endpoint = tidb_endpoint(f"mysql://u:{SECRET}@{host}:4000/bench", allow_remote_target=True, tls=tls)
    assert endpoint.tls is wanted
    context = endpoint.tls_options().get("ssl")
    assert (context is not None) is wanted
    if context is not None:
        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED
    assert ("tls=true" in tidb_dsn(endpoint)) is wanted


def test_an_unknown_word_for_tls_is_refused() -> None:
    """A typing error would turn the check off."""
    with pytest.raises(InfraError, match="JETLAG_TIDB_TLS is on or off"):
        tidb_endpoint("mysql://u@127.0.0.1:4000/bench", allow_remote_target=False, tls="of")
