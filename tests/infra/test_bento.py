"""Bento itself: takes our configurations, and runs in a container as it does as a process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import docker
import pytest

from bench.bento.sink import SinkJob, sink_config
from bench.contract.names import durable
from bench.engine.bento import BentoEngine, windows_config
from bench.engine.protocol import EngineError, EngineJob
from bench.infra.binary import bento_binary
from bench.infra.docker_engine import DockerEngine
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.infra.local_nats import LocalNats
from bench.infra.scratch_image import build_scratch_image
from bench.infra.service import running
from bench.infra.waiting import wait_until
from bench.stream_admin import StreamAdmin

pytestmark = pytest.mark.infra

IMAGE = "jetlag-test/bento"
NATS = NatsEndpoint("127.0.0.1", 4222, "jetlag", 'a"b$\\c@/')
TIDB = TidbEndpoint("127.0.0.1", 4000, "jetlag", 'p"${HOME}')


def job(nats: NatsEndpoint) -> EngineJob:
    return EngineJob("run-1", "C", 1000, "processing", 16, "jetstream", nats, None, Path())


def test_bento_finds_no_fault_in_our_configurations(tmp_path: Path) -> None:
    """A field that Bento does not know is a warning at start-up and a default at run time."""
    sink = SinkJob("run-1", "spark", durable("E", "results", "spark"), NATS, TIDB)
    files = {
        "sink.yaml": sink_config(sink, "127.0.0.1:1", 30),
        "windows.yaml": windows_config(job(NATS), "127.0.0.1:1"),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in files]
    done = subprocess.run([bento_binary(), "lint", *paths], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_bento_that_cannot_connect_tells_why_without_the_password(tmp_path: Path) -> None:
    """The user would read that Bento is not ready, or the password of NATS in a CI log."""
    engine = BentoEngine()
    try:
        engine.deploy(job(NatsEndpoint("127.0.0.1", 9, "jetlag", "s3cret")))
        with pytest.raises(EngineError, match="bento is not ready") as caught:
            engine.wait_ready(3)
        assert "connection refused" in str(caught.value) or "no servers available" in str(caught.value)
        assert "s3cret" not in str(caught.value)
    finally:
        engine.stop()


@pytest.mark.containers
def test_bento_in_a_container_reaches_services_on_loopback() -> None:
    """Case E with an image would wait for a NATS that a container cannot see."""
    answer = DockerEngine.connect(os.environ)
    if isinstance(answer, str):
        pytest.skip(answer)
    answer.close()
    client = docker.from_env(timeout=300)
    build_scratch_image(client, IMAGE, bento_binary())
    engine = BentoEngine(IMAGE)
    with running(LocalNats()) as nats:
        with StreamAdmin(nats.endpoint) as admin:
            admin.recreate_streams("memory", 1)
        try:
            engine.deploy(job(nats.endpoint))
            engine.wait_ready(60)
            assert engine.running()
            assert engine.progress()[0]["received"] == 0
            engine.kill()
            wait_until(lambda: not engine.running(), 20, "it is still running")
            engine.restart()
            engine.wait_ready(60)
            assert nats.endpoint.password not in str(client.containers.list(all=True)[0].attrs)
        finally:
            engine.stop()
    assert not [c for c in client.containers.list(all=True) if c.name.startswith("jetlag-bento-")]
    client.close()
