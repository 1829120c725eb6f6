"""The fairness manifest: all that is needed to compare, and no password."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from bench import manifest as manifest_module
from bench.cases import case_b
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint
from bench.manifest import git_state, make_manifest
from bench.settings import RawOptions, check_options

CASE = case_b(check_options(RawOptions(storage="file", replicas="3")))
SECRET = "hunter2-S3cret"


def service(endpoint):
    return SimpleNamespace(
        kind="external",
        endpoint=endpoint,
        version=lambda: "v1.2.3",
        build_id=lambda: "sha256:abc",
        environment={"GOGC": "400"},
    )


def made() -> dict:
    services = {
        "nats": service(NatsEndpoint("10.0.0.1", 4222, "user", SECRET, tls=True)),
        "tidb": service(TidbEndpoint("::1", 4000, "root", SECRET)),
    }
    return make_manifest(CASE, "run", "external", services, {"profile": "smoke"})


def test_the_manifest_holds_what_a_comparison_needs() -> None:
    """If this fails, two reports cannot be compared because one does not say how it was made."""
    manifest = made()
    assert set(manifest) >= {
        "run_id",
        "case",
        "case_version",
        "load",
        "transport",
        "settings",
        "infra",
        "services",
        "machine",
        "libraries",
        "git",
    }
    assert manifest["load"]["payload_bytes"] == 512
    assert manifest["transport"] == {
        "storage": "file",
        "replicas": 3,
        "message_ids": True,
        "max_bytes": -1,
    }
    assert manifest["services"]["nats"] == {
        "kind": "external",
        "endpoint": "tls://10.0.0.1:4222",
        "version": "v1.2.3",
        "build": "sha256:abc",
        "environment": {"GOGC": "400"},
    }
    assert manifest["machine"]["cores"] >= 1
    assert manifest["machine"]["memory_bytes"] > 0
    assert all(manifest["libraries"].values())


def test_the_manifest_holds_no_password() -> None:
    """If this fails, a report that is passed on gives the database away."""
    assert SECRET not in json.dumps(made())


def test_the_manifest_is_strict_json() -> None:
    """If this fails, a run ends before it began because its manifest cannot be written."""
    manifest = made()
    assert json.loads(json.dumps(manifest, allow_nan=False)) == manifest


def fake_git(monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, str] | Exception]) -> None:
    def run(command: list[str], **_how):
        answer = answers[command[1]]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(returncode=answer[0], stdout=answer[1])

    monkeypatch.setattr(manifest_module.subprocess, "run", run)


SLOW = subprocess.TimeoutExpired("git", 10)


@pytest.mark.parametrize(
    ("head", "status", "commit", "dirty"),
    [
        ((0, "abc123\n"), (0, ""), "abc123", False),
        ((0, "abc123\n"), (0, " M bench/run.py\n"), "abc123", True),
        ((0, "abc123\n"), SLOW, "abc123", None),
        ((0, "abc123\n"), (128, ""), "abc123", None),
        ((128, ""), (128, ""), "unknown", None),
        (FileNotFoundError("git"), FileNotFoundError("git"), "unknown", None),
    ],
    ids=["clean", "changed", "slow status", "no status", "no repository", "no git"],
)
def test_the_state_of_the_tree_is_told_or_unknown(monkeypatch, head, status, commit, dirty) -> None:
    """If this fails, a run of changed code passes as a run of its commit."""
    fake_git(monkeypatch, {"rev-parse": head, "status": status})
    assert git_state() == {"commit": commit, "dirty": dirty}
