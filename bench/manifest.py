"""The fairness manifest: everything a reader must know to compare this run with another."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from bench.case import CASE_VERSION, Case
from bench.infra.service import Service, identity
from bench.producer import ack_window, tick_s
from bench.schedule import ConstantRate
from bench.stream_admin import ACK_WAIT_S, MAX_ACK_PENDING
from bench.wire.native.library import library
from bench.worker import may_raise_priority
from bench.writer import WriterSettings

_LIBRARIES = ("nats-py", "numpy", "pymysql", "pyspark", "pyarrow", "hdrhistogram", "orjson", "pytest")


def make_manifest(
    case: Case,
    run_id: str,
    provider: str,
    services: Mapping[str, Service[Any]],
    settings: Mapping[str, Any],
    engine: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "case": case.name,
        "case_version": CASE_VERSION,
        "load": asdict(case.load),
        "transport": asdict(case.transport),
        "windows": None if case.windows is None else asdict(case.windows),
        "engine": dict(engine) if engine else None,
        "drivers": _drivers(case),
        "settings": dict(settings),
        "infra": provider,
        "services": {
            name: {"endpoint": service.endpoint.url, **identity(service)}
            for name, service in services.items()
        },
        "machine": machine(),
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "git": git_state(),
    }


def _drivers(case: Case) -> dict[str, Any]:
    """How the harness itself sends, reads and writes."""
    return {
        "producer": {
            "tick_ms": tick_s(case.windows is not None) * 1000,
            "ack_window": ack_window(ConstantRate(0, case.load.rate_per_s)),
        },
        "consumers": {"ack_wait_s": ACK_WAIT_S, "max_ack_pending": MAX_ACK_PENDING},
        "writer": asdict(WriterSettings()),
        "priority_raised": may_raise_priority(),
        "compiled_wire": library() is not None,
        # JetStream writes to disk at once but syncs this seldom: a machine that crashes can lose
        # acknowledged messages, whatever the number of its processes that survive.
        "jetstream_sync_interval": "server default (2m)",
    }


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "os": platform.platform(),
        "python": platform.python_version(),
        "load_average_1m": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def git_state() -> dict[str, Any]:
    """The commit of the suite itself, and whether the tree differs from it."""

    def git(*words: str) -> str | None:
        root = Path(__file__).parent
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain")
    # A status that git could not tell is not a clean tree.
    return {"commit": commit or "unknown", "dirty": None if changes is None else bool(changes)}
