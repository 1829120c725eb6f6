"""Arroyo's SQL: one pipeline a partition, events.<p> → results.arroyo.<p>."""

from __future__ import annotations

from bench.contract.names import events_subject, results_subject
from bench.engine.protocol import EngineError, EngineJob
from bench.engine.sql_files import nats_values, sql


def pipeline_sql(job: EngineJob, partition: int) -> str:
    if job.window_ms % 1000:
        raise EngineError(f"arroyo: --window-ms {job.window_ms}: its SQL counts in whole seconds")
    values = {
        **nats_values(job),
        "AUTH_TYPE": "credentials",
        "EVENTS_SUBJECT": events_subject(partition),
        "RESULTS_SUBJECT": results_subject("arroyo", partition),
    }
    files = (f"source_{job.window_clock}", "windows", "sink")
    text = "\n".join(sql(f"arroyo/{name}", values) for name in files)
    return text if job.nats.user else _without_credentials(text)


def _without_credentials(text: str) -> str:
    """Arroyo refuses options that its way of authentication does not use."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("'auth.")) + "\n"
