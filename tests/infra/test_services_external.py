"""External services: real servers that we did not start, reached by URL."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bench.database import connect
from bench.infra.binary import nats_server_binary
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.external import ExternalNats, ExternalTidb
from bench.infra.leashed import Leashed
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.ports import free_ports
from bench.infra.provider import choose_provider
from bench.infra.service import running
from bench.infra.waiting import wait_until

pytestmark = pytest.mark.infra


def test_both_services_by_url() -> None:
    """A user with servers of their own could not measure them."""
    with running(LocalNats()) as nats, running(LocalTidb()) as tidb:
        n, t = nats.endpoint, tidb.endpoint
        urls = {
            "JETLAG_NATS_URL": f"nats://{n.user}:{n.password}@{n.host}:{n.port}",
            "JETLAG_TIDB_URL": f"mysql://{t.user}:{t.password}@{t.host}:{t.port}/{t.database}",
        }
        provider = choose_provider("external", environ=urls)
        with running(provider.nats()) as external_nats, running(provider.tidb()) as external_tidb:
            assert external_nats.version() == nats.version()
            assert external_tidb.version() == tidb.version()
            assert external_nats.build_id() == f"external:{nats.version()}"
        # Stopping what is not ours must not stop it.
        nats.wait_ready()
        tidb.wait_ready()

        wrong = {
            key: url.replace(n.password, "wrong").replace(t.password, "wrong") for key, url in urls.items()
        }
        provider = choose_provider("external", environ=wrong)
        for service in (provider.nats(), provider.tidb()):
            with pytest.raises(ServiceError, match=r"(?i)authorization|access denied") as caught:
                service.wait_ready(5)
            assert "wrong" not in str(caught.value)


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    certificate_path, key_path = folder / "cert.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(pem))
    key_path.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    return certificate_path, key_path


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    certificate, key = self_signed(tmp_path)
    (port,) = free_ports(1)
    config = tmp_path / "tls.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{tmp_path}/js" }}\n'
        f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
    )
    leashed = Leashed("test")
    try:
        leashed.start([str(nats_server_binary()), "--config", str(config)], tmp_path / "log")
        wait_until(lambda: "ready" in (tmp_path / "log").read_text(), 30, "no TLS server")
        yield port, certificate
    finally:
        leashed.close()


def test_tls_is_spoken_and_checked(tls_server: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials would cross a network in clear, or go to whoever answers."""
    port, certificate = tls_server
    with pytest.raises(ServiceError, match="tls://"):
        ExternalNats(NatsEndpoint("127.0.0.1", port, "", "")).wait_ready(5)
    service = ExternalNats(NatsEndpoint("127.0.0.1", port, "", "", tls=True))
    with pytest.raises(ServiceError, match=r"(?i)certificate"):
        service.wait_ready(5)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    service.wait_ready(5)


class TlsTidb(LocalTidb):
    """With a certificate of its own making."""

    def __init__(self, certificate: Path, key: Path) -> None:
        super().__init__()
        self._files = f'\n[security]\nssl-cert = "{certificate}"\nssl-key = "{key}"\n'

    def _configure(self, folder: Path) -> list[str]:
        command = super()._configure(folder)
        with Path(command[-1]).open("a") as config:
            config.write(self._files)
        return command


def test_tidb_s_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password for a database on another machine would go to whoever answers there."""
    certificate, key = self_signed(tmp_path)
    with running(TlsTidb(certificate, key)) as tidb:
        endpoint = replace(tidb.endpoint, tls=True)
        with pytest.raises(ServiceError, match=r"(?i)certificate"):
            ExternalTidb(endpoint).wait_ready(5)
        with pytest.raises(pymysql.err.OperationalError, match=r"(?i)certificate"):
            connect(endpoint)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        ExternalTidb(endpoint).wait_ready(5)
        with connect(endpoint).cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert cursor.fetchone()[1] != ""
