"""Cases A and B through testcontainers, on images made from the embedded provider's own binaries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import docker
import pytest

from bench.infra.binary import nats_server_binary, tidb_server_binary
from bench.infra.docker_engine import DockerEngine
from bench.infra.scratch_image import build_scratch_image

ROOT = Path(__file__).parents[2]
IMAGES = {"JETLAG_NATS_IMAGE": "jetlag-test/nats", "JETLAG_TIDB_IMAGE": "jetlag-test/tidb"}


@pytest.fixture
def images() -> dict[str, str]:
    answer = DockerEngine.connect(os.environ)
    if isinstance(answer, str):
        pytest.skip(answer)
    answer.close()
    client = docker.from_env(timeout=300)
    build_scratch_image(client, IMAGES["JETLAG_NATS_IMAGE"], nats_server_binary())
    build_scratch_image(client, IMAGES["JETLAG_TIDB_IMAGE"], tidb_server_binary())
    client.close()
    return IMAGES


@pytest.mark.containers
def test_cases_a_and_b_pass_in_containers(images, tmp_path):
    """What users run with --infra=containers would not work, and nobody would notice here."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--infra=containers",
            "-k",
            "test_case_a or test_case_b",
            f"--reports-dir={tmp_path}",
        ],
        cwd=ROOT,
        env={**os.environ, **images},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in tmp_path.glob("*-*/result.json")]
    assert sorted(result["case"] for result in results) == ["A", "B"]
    assert {result["verdict"] for result in results} == {"PASS"}
    for result in results:
        assert {"driver", "nats"} <= result["resources"].keys()
    manifest = json.loads((tmp_path / results[0]["run_id"] / "manifest.json").read_text())
    assert manifest["infra"] == "containers"
    assert "sha256:" in manifest["services"]["nats"]["build"]
