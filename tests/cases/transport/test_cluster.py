"""The cluster in containers carries a cell as the local one does."""

from __future__ import annotations

import os

import docker
import pytest

from bench.infra.binary import nats_server_binary
from bench.infra.container_cluster import container_cluster
from bench.infra.docker_engine import DockerEngine
from bench.infra.scratch_image import build_scratch_image
from bench.transport.run_cell import run_cell

pytestmark = [pytest.mark.transport, pytest.mark.containers]
IMAGE = "jetlag-test/nats"


@pytest.fixture
def engine():
    answer = DockerEngine.connect(os.environ)
    if isinstance(answer, str):
        pytest.skip(answer)
    answer.close()
    client = docker.from_env(timeout=300)
    build_scratch_image(client, IMAGE, nats_server_binary())
    yield client
    client.close()


def test_a_cell_on_three_containers(engine, cell_that_is_fast):
    """Replicas could not be measured on the images that users deploy."""
    networks = {network.name for network in engine.networks.list()}
    with container_cluster(IMAGE) as cluster:
        outcome = run_cell(cluster, cell_that_is_fast)
        placed = outcome.placement["streams"]["TRANSPORT"]
        assert {placed["leader"], *placed["replicas"]} == set(cluster.nodes)
        assert outcome.metrics["server_cpu_s_per_million"] is not None
    outcome.report.raise_unless_pass()
    assert {network.name for network in engine.networks.list()} == networks, "the network is left"
