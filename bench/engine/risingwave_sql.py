"""RisingWave's SQL: a source, a materialised view of windows, and sinks."""

from __future__ import annotations

from urllib.parse import quote

from bench.contract.names import durable, results_subject
from bench.contract.partition import MAX_PARTITIONS
from bench.engine.protocol import EngineJob
from bench.engine.sql_files import nats_values, sql
from bench.infra.endpoint import TidbEndpoint, bracketed

#: Otherwise a sink writes to a log first and to its target some time later.
SETTINGS = "SET sink_decouple = false"


def create_statements(job: EngineJob) -> list[str]:
    values = {
        **nats_values(job),
        "CONNECT_MODE": "user_and_password" if job.nats.user else "plain",
        "DURABLE": durable(job.case, "events", "rw").name,
    }
    sinks = [_tidb_sink(job.tidb)] if job.tidb is not None else _nats_sinks(job, values)
    return [
        SETTINGS,
        sql("risingwave/source", values),
        sql("risingwave/windows", values),
        *sinks,
    ]


def drop_statements(partitions: int) -> list[str]:
    """In the order in which they depend on each other; nothing that is not ours bears these names."""
    sinks = [*(f"jetlag_results_{p}" for p in range(partitions)), "jetlag_results_tidb"]
    return [
        *(f"DROP SINK IF EXISTS {sink}" for sink in sinks),
        "DROP MATERIALIZED VIEW IF EXISTS jetlag_windows",
        "DROP SOURCE IF EXISTS jetlag_events",
    ]


def _nats_sinks(job: EngineJob, values: dict[str, str]) -> list[str]:
    return [
        sql(
            "risingwave/sink_nats",
            {
                **values,
                "PARTITION": str(partition),
                "HEX_DIGITS": hex_digits(partition, job.partitions),
                "RESULTS_SUBJECT": results_subject("rw", partition),
            },
        )
        for partition in range(job.partitions)
    ]


def hex_digits(partition: int, partitions: int) -> str:
    """The first digits of md5(key) that fall into this partition."""
    return "".join(f"{digit:x}" for digit in range(MAX_PARTITIONS) if digit % partitions == partition)


def _tidb_sink(tidb: TidbEndpoint) -> str:
    credentials = f"user={quote(tidb.user, safe='')}&password={quote(tidb.password, safe='')}"
    credentials += "&sslMode=VERIFY_IDENTITY" if tidb.tls else ""
    address = f"{bracketed(tidb.host)}:{tidb.port}/{tidb.database}"
    return sql("risingwave/sink_tidb", {"JDBC_URL": f"jdbc:mysql://{address}?{credentials}"})
