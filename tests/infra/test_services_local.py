"""The embedded services: they start, answer, survive faults as they should, and leave nothing."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import nats
import psutil
import pymysql
import pytest
from nats.js.api import StorageType, StreamConfig

from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.ports import free_ports
from bench.infra.service import running
from bench.infra.tidb_account import connect_tidb

pytestmark = pytest.mark.infra
ONE_TRY = {"connect_timeout": 5, "allow_reconnect": False, "max_reconnect_attempts": 0}


@pytest.fixture(scope="module")
def nats_service() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        yield service


@pytest.fixture(scope="module")
def tidb_service() -> Iterator[LocalTidb]:
    service = LocalTidb()
    with running(service):
        yield service


async def connect(endpoint: NatsEndpoint) -> nats.NATS:
    return await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password, **ONE_TRY)


def listens(port: int) -> bool:
    return any(c.laddr.port == port and c.status == "LISTEN" for c in psutil.net_connections("tcp"))


def test_nats_answers_a_jetstream_request(nats_service: LocalNats) -> None:
    """Without it no case can make a stream."""

    async def account_streams() -> int:
        client = await connect(nats_service.endpoint)
        info = await client.jetstream().account_info()
        await client.close()
        return info.streams

    assert asyncio.run(account_streams()) == 0
    assert nats_service.version().count(".") == 2
    assert nats_service.build_id().startswith("sha256:")


def test_nats_refuses_a_client_without_the_password(nats_service: LocalNats) -> None:
    """Any local user could read and write a run's messages otherwise."""

    async def anonymous() -> None:
        await nats.connect(nats_service.endpoint.url, **ONE_TRY)

    with pytest.raises(Exception, match=r"(?i)authorization"):
        asyncio.run(anonymous())


def test_tidb_answers_sql(tidb_service: LocalTidb) -> None:
    """Without it no case can write a row."""
    with connect_tidb(tidb_service.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1, DATABASE()")
        assert cursor.fetchone() == (1, "bench")
    assert "TiDB" in tidb_service.version()
    assert tidb_service.build_id().startswith("sha256:")


def test_tidb_user_is_limited_to_its_schema(tidb_service: LocalTidb) -> None:
    """A run's user that may do more could spoil the server's own tables or other schemas."""
    with connect_tidb(tidb_service.endpoint) as connection, connection.cursor() as cursor:
        for statement in ("CREATE DATABASE other", "SELECT * FROM mysql.user", "CREATE USER x"):
            with pytest.raises(pymysql.err.MySQLError):
                cursor.execute(statement)


def test_tidb_root_needs_a_password(tidb_service: LocalTidb) -> None:
    """A root without one makes every other limit worthless."""
    endpoint = tidb_service.endpoint
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        pymysql.connect(host=endpoint.host, port=endpoint.port, user="root")


@pytest.mark.parametrize("fixture", ["nats_service", "tidb_service"])
def test_secrets_stay_off_command_lines_and_logs(fixture: str, request: pytest.FixtureRequest) -> None:
    """Every user of the machine can read command lines, and logs end up in CI artifacts."""
    service = request.getfixturevalue(fixture)
    (pid,) = service.pids()
    command_line = " ".join(psutil.Process(pid).cmdline())
    folder = Path(psutil.Process(pid).cwd())
    log = (folder / "log").read_text()
    for secret in service._secrets():
        assert secret not in command_line
        assert secret not in log
        assert secret not in repr(service.endpoint)
    for config in (*folder.glob("*.conf"), *folder.glob("*.toml")):
        assert stat.S_IMODE(config.stat().st_mode) == 0o600


@pytest.mark.parametrize("fixture", ["nats_service", "tidb_service"])
def test_listens_on_loopback_only(fixture: str, request: pytest.FixtureRequest) -> None:
    """A service on another address would be open to the network for the length of a run."""
    service = request.getfixturevalue(fixture)
    (pid,) = service.pids()
    listening = [c for c in psutil.Process(pid).net_connections("inet") if c.status == "LISTEN"]
    assert listening
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}


@pytest.mark.parametrize("make", [LocalNats, LocalTidb])
def test_stop_leaves_nothing(make: type[LocalNats | LocalTidb]) -> None:
    """A process, port or folder that stays would pile up over a night of runs."""
    service = make()
    with running(service):
        (pid,) = service.pids()
        supervisor = service._leash().supervisor_pid
        folder = service._leash().folder
        port = service.endpoint.port
        assert listens(port)
    assert not psutil.pid_exists(pid)
    assert not psutil.pid_exists(supervisor)
    assert not folder.exists()
    assert not listens(port)
    service.stop()
    assert service.log_tail(), "the log's end must outlive the service: it explains a failure"


def test_nats_keeps_file_backed_data_through_a_kill() -> None:
    """The fault tests would count data as lost by the pipeline that the harness itself threw away."""

    async def publish(endpoint: NatsEndpoint) -> None:
        client = await connect(endpoint)
        stream = client.jetstream()
        await stream.add_stream(StreamConfig(name="KEPT", subjects=["kept.*"], storage=StorageType.FILE))
        for number in range(10):
            await stream.publish("kept.a", b"%d" % number)
        await client.close()

    async def count(endpoint: NatsEndpoint) -> int:
        client = await connect(endpoint)
        info = await client.jetstream().stream_info("KEPT")
        await client.close()
        return info.state.messages

    service = LocalNats()
    with running(service):
        before = service.endpoint
        asyncio.run(publish(before))
        service.kill()
        assert service.pids() == []
        service.restart()
        service.wait_ready()
        assert service.endpoint == before
        assert asyncio.run(count(before)) == 10


def test_tidb_keeps_committed_rows_through_a_kill() -> None:
    """Case B's outage test could not tell a lost row from a row that the database forgot."""
    service = LocalTidb()
    with running(service):
        before = service.endpoint
        with connect_tidb(before) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE kept (n INT PRIMARY KEY)")
            cursor.executemany("INSERT INTO kept VALUES (%s)", [(n,) for n in range(100)])
        service.kill()
        service.restart()
        service.wait_ready()
        assert service.endpoint == before
        with connect_tidb(before) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM kept")
            assert cursor.fetchone() == (100,)


def test_a_paused_service_is_silent_until_resumed() -> None:
    """A pause that does not freeze the server would make the stall tests pass without a stall."""
    service = LocalNats()
    with running(service):
        service.pause()
        with pytest.raises(ServiceError, match="not ready"):
            service.wait_ready(timeout_s=0.5)
        service.resume()
        service.wait_ready()


def test_a_paused_service_can_be_stopped() -> None:
    """A frozen process ignores SIGTERM; a test that fails in mid-pause must still end cleanly."""
    service = LocalNats()
    with running(service):
        (pid,) = service.pids()
        service.pause()
    assert not psutil.pid_exists(pid)


def test_a_port_taken_in_the_last_moment_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs on one machine would now and then fail for no reason that their user can see."""
    blocker = LocalNats()
    with running(blocker):
        taken = [blocker.endpoint.port, *free_ports(1)]
        answers = iter([taken])
        monkeypatch.setattr(
            "bench.infra.local_service.free_ports", lambda n: next(answers, None) or free_ports(n)
        )
        service = LocalNats()
        with running(service):
            assert service.endpoint.port != blocker.endpoint.port


def test_a_failed_start_shows_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the server's own words the user is left to guess why nothing starts."""
    monkeypatch.setattr("bench.infra.nats_config.NatsConfig.render", lambda _self: "port: nonsense\n")
    service = LocalNats()
    with (
        pytest.raises(ServiceError, match=r"(?s)ended while starting.*end of its log.*nats\.conf:1"),
        running(service),
    ):
        pass
