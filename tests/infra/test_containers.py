"""The services in containers, on images made from the embedded provider's own binaries (FROM scratch)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import docker.errors
import nats
import pytest

from bench.infra.binary import nats_server_binary, tidb_server_binary
from bench.infra.docker_engine import DockerEngine
from bench.infra.provider import Provider, choose_provider
from bench.infra.scratch_image import build_scratch_image
from bench.infra.service import running
from bench.infra.tidb_account import connect_tidb
from bench.infra.waiting import wait_until

pytestmark = [pytest.mark.infra, pytest.mark.containers]
ROOT = Path(__file__).resolve().parents[2]
NATS_IMAGE, TIDB_IMAGE = "jetlag-test/nats", "jetlag-test/tidb"
GONE_TIMEOUT_S = 60.0


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    answer = DockerEngine.connect(os.environ)
    if isinstance(answer, str):
        pytest.skip(answer)
    answer.close()
    client = docker.from_env(timeout=300)
    yield client
    client.close()


@pytest.fixture(scope="session")
def provider(engine: Any) -> Provider:
    build_scratch_image(engine, NATS_IMAGE, nats_server_binary())
    build_scratch_image(engine, TIDB_IMAGE, tidb_server_binary())
    return choose_provider("containers", nats_image=NATS_IMAGE, tidb_image=TIDB_IMAGE, environ=os.environ)


def bound_addresses(engine: Any, container_id: str | None) -> set[str]:
    ports = engine.containers.get(container_id).attrs["NetworkSettings"]["Ports"]
    return {binding["HostIp"] for bindings in ports.values() for binding in bindings or []}


def assert_gone(engine: Any, container_id: str) -> None:
    with pytest.raises(docker.errors.NotFound):
        engine.containers.get(container_id)


def test_nats_in_a_container(engine: Any, provider: Provider) -> None:
    """Cases could not run on the images that users deploy."""

    async def account_streams(endpoint: Any) -> int:
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        info = await client.jetstream().account_info()
        await client.close()
        return info.streams

    with running(provider.nats()) as service:
        container_id = service.container_id
        assert container_id is not None
        assert asyncio.run(account_streams(service.endpoint)) == 0
        assert bound_addresses(engine, container_id) == {"127.0.0.1"}
        inspected = str(engine.containers.get(container_id).attrs)
        assert service.endpoint.password not in inspected + service.log_tail(1000)
        assert service.build_id().startswith("sha256:")
        assert "ready" in service.log_tail()
    assert_gone(engine, container_id)
    assert service.log_tail(), "the log's end must outlive the container"


def test_tidb_in_a_container(engine: Any, provider: Provider) -> None:
    """Cases could not run on the images that users deploy."""
    with running(provider.tidb()) as service:
        container_id = service.container_id
        assert container_id is not None
        with connect_tidb(service.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1, DATABASE()")
            assert cursor.fetchone() == (1, "bench")
        assert bound_addresses(engine, container_id) == {"127.0.0.1"}
        inspected = str(engine.containers.get(container_id).attrs)
        assert service.endpoint.password not in inspected + service.log_tail(1000)
        assert "TiDB" in service.version()
    assert_gone(engine, container_id)


def test_faults_in_containers(provider: Provider) -> None:
    """The fault tests need the same port and data after a kill, whichever provider runs the service."""
    with running(provider.tidb()) as service:
        before = service.endpoint
        with connect_tidb(before) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE kept (n INT PRIMARY KEY)")
            cursor.execute("INSERT INTO kept VALUES (1)")
        service.kill()
        service.restart()
        service.wait_ready()
        service.pause()
        service.resume()
        service.wait_ready()
        assert service.endpoint == before
        with connect_tidb(before) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT n FROM kept")
            assert cursor.fetchone() == (1,)


HOLDER = """
import os, time
from bench.infra.provider import choose_provider
provider = choose_provider("containers", nats_image={nats!r}, tidb_image={tidb!r}, environ=os.environ)
service = provider.nats()
service.start()
print(service.container_id, flush=True)
time.sleep(600)
"""


def test_kill_9_leaves_no_container(engine: Any, provider: Provider) -> None:
    """Ryuk is off: without the leash's clean-up command a crashed run would leave its containers for ever."""
    code = HOLDER.format(nats=NATS_IMAGE, tidb=TIDB_IMAGE)
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert holder.stdout is not None
    container_id = holder.stdout.readline().strip()
    assert container_id
    engine.containers.get(container_id)
    holder.kill()
    holder.communicate()

    def gone() -> bool:
        return not [c for c in engine.containers.list(all=True) if c.id == container_id]

    wait_until(gone, GONE_TIMEOUT_S, f"the container {container_id} is left")


def test_a_missing_image_is_told_in_one_line(engine: Any) -> None:
    """The user must learn which image is missing, not read a traceback."""
    # A registry on this machine that is not there: refused at once, with no name to look up.
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1/absent cannot be had") as caught:
        choose_provider("containers", nats_image="127.0.0.1:1/absent", environ=os.environ)
    assert "\n" not in str(caught.value)
