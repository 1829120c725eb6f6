"""The SQL that engines get: files in sql/, with the run's values inside their quotes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.engine.protocol import EngineJob
from bench.template import fill

FOLDER = Path(__file__).parent / "sql"


def sql(name: str, values: Mapping[str, str]) -> str:
    return fill(FOLDER / f"{name}.sql", values, lambda value: value.replace("'", "''"))


def nats_values(job: EngineJob) -> dict[str, str]:
    return {
        "NATS_SERVERS": job.nats.url,
        "NATS_USER": job.nats.user,
        "NATS_PASSWORD": job.nats.password,
        "RUN_ID": job.run_id,
        "WINDOW_S": f"{job.window_ms / 1000:g}",
        "LATENESS_S": str(job.lateness_s),
    }
