"""The SQL that Arroyo and RisingWave get: as agreed, quoted, parsed, and run on real events."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot
from datafusion import SessionContext
from sqlglot import exp

from bench.contract.event import make_event, value_of
from bench.contract.partition import partition_of
from bench.contract.result import FIELDS, decode_result
from bench.engine.arroyo_sql import pipeline_sql
from bench.engine.protocol import EngineError, EngineJob
from bench.engine.risingwave_sql import create_statements, drop_statements, hex_digits
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint

GOLDEN = Path(__file__).parent / "golden"
NATS = NatsEndpoint("127.0.0.1", 4222, "jetlag", "it's secret")
TIDB = TidbEndpoint("127.0.0.1", 4000, "jetlag", "p&ss'wd")
JOB = EngineJob("run-1", "C", 10_000, "event", 16, "jetstream", NATS, None, Path())

EVENTS = 10_000
KEYS = 37
RATE = 250
FIRST_MS = 1_700_000_003_417


def agrees_with(name: str, text: str) -> bool:
    return (GOLDEN / name).read_text() == text


def test_arroyo_gets_the_agreed_sql() -> None:
    """An edit that changes what a user's Arroyo runs would go unnoticed, since no image is at hand here."""
    assert agrees_with("arroyo_event_6.sql", pipeline_sql(JOB, 6))
    assert agrees_with("arroyo_ingest_0.sql", pipeline_sql(replace(JOB, window_clock="ingest"), 0))


def test_risingwave_gets_the_agreed_sql() -> None:
    """The same for RisingWave, into JetStream and into TiDB."""
    to_jetstream = create_statements(replace(JOB, partitions=2))
    assert agrees_with("risingwave_jetstream.sql", "\n".join(to_jetstream))
    to_tidb = create_statements(replace(JOB, case="F", sink="tidb", tidb=TIDB))
    assert agrees_with("risingwave_tidb.sql", "\n".join(to_tidb))


def test_without_credentials_arroyo_is_given_none() -> None:
    """Arroyo refuses options that it does not use: an open server could not be read."""
    text = pipeline_sql(replace(JOB, nats=NatsEndpoint("h", 1, "", "")), 0)
    assert "auth" not in text
    assert "servers = 'nats://h:1'" in text


def test_arroyo_refuses_windows_that_its_sql_cannot_cut() -> None:
    """Windows of half seconds would silently be those of whole ones."""
    with pytest.raises(EngineError, match="--window-ms 1500"):
        pipeline_sql(replace(JOB, window_ms=1500), 0)


@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 16])
def test_risingwave_s_digits_are_the_contract_s_partitions(partitions: int) -> None:
    """A result would be published to another partition than its key's, or to none."""
    for p in range(partitions):
        for digit in hex_digits(p, partitions):
            assert int(digit, 16) % partitions == p
    assert sorted("".join(hex_digits(p, partitions) for p in range(partitions))) == list("0123456789abcdef")


def test_every_object_that_risingwave_makes_is_dropped() -> None:
    """What a run leaves in a user's RisingWave would go on reading EVENTS, and be in the next run's way."""
    made = re.findall(r"CREATE (?:SOURCE|SINK|MATERIALIZED VIEW) (\w+)", "\n".join(create_statements(JOB)))
    to_tidb = create_statements(replace(JOB, sink="tidb", tidb=TIDB))
    made += re.findall(r"CREATE SINK (\w+)", "\n".join(to_tidb))
    dropped = {statement.split()[-1] for statement in drop_statements(JOB.partitions)}
    assert set(made) == dropped


# -- run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def events() -> pa.Table:
    made = [make_event(JOB.run_id, seq, FIRST_MS + seq * 1000 // RATE, KEYS) for seq in range(1, EVENTS + 1)]
    rows = [
        {
            "run_id": event.run_id,
            "key": event.key,
            "value": event.value,
            "seq": event.seq,
            "producer_ts_ms": event.producer_ts_ms,
        }
        for event in made
    ]
    foreign = {**rows[0], "run_id": "another"}
    return pa.Table.from_pylist([*rows, foreign])


def truth() -> dict[tuple[str, int], tuple[int, int, int, int]]:
    """(key, window end) → count, sum, last seq, its time: from the contract's closed form alone."""
    found: dict[tuple[str, int], tuple[int, int, int, int]] = {}
    for seq in range(1, EVENTS + 1):
        at_ms = FIRST_MS + seq * 1000 // RATE
        place = f"k{seq % KEYS}", (at_ms // JOB.window_ms + 1) * JOB.window_ms
        count, total, _, _ = found.get(place, (0, 0, 0, 0))
        found[place] = count + 1, total + value_of(seq), seq, at_ms
    return found


def as_truth(table: pa.Table) -> dict[tuple[str, int], tuple[int, int, int, int]]:
    """Through JSON and the contract's decoder, as a writer would read it; a doubled row is an error."""
    results = [decode_result(json.dumps(row).encode()) for row in table.to_pylist()]
    assert {result.run_id for result in results} == {JOB.run_id}
    found = {
        (result.key, result.window_end_ms): (
            result.count,
            result.sum_value,
            result.seq,
            result.producer_ts_ms,
        )
        for result in results
    }
    assert len(found) == len(results)
    return found


def statements(text: str) -> list[str]:
    bare = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]


def context_with(events: pa.Table, name: str) -> SessionContext:
    context = SessionContext()
    context.register_record_batches(name, [events.to_batches()])
    return context


#: What DataFusion has instead of a streaming engine's tumbling window.
BIN = "date_bin(INTERVAL '10 seconds', ts, TIMESTAMP '1970-01-01T00:00:00')"


def test_arroyo_s_aggregate_equals_the_closed_form(events: pa.Table) -> None:
    """Its expressions are DataFusion's: a wrong cast, column or window end would show only at a user's."""
    source, view, _sink, insert = statements(pipeline_sql(JOB, 6))
    stamp = re.search(r"ts TIMESTAMP NOT NULL GENERATED ALWAYS AS (\(.*\)),", source)
    assert stamp is not None
    context = context_with(events, "raw")
    context.sql(f"CREATE VIEW events AS SELECT *, {stamp[1]} AS ts FROM raw").collect()
    window = f"named_struct('start', {BIN}, 'end', {BIN} + INTERVAL '10 seconds')"
    tumbled, times = re.subn(r"tumble\(INTERVAL '10 seconds'\)", window, view)
    assert times == 1
    context.sql(tumbled).collect()
    select = insert.removeprefix("INSERT INTO results")
    assert select != insert
    table = context.sql(select).to_arrow_table()
    assert tuple(table.column_names) == FIELDS
    assert as_truth(table) == truth()


def test_risingwave_s_aggregate_equals_the_closed_form(events: pa.Table) -> None:
    """The same for RisingWave: parsed by its dialect, its TUMBLE put into DataFusion's words, and run."""
    _setting, source, view, *sinks = (statements(text)[0] for text in create_statements(JOB))
    columns = sqlglot.parse_one(source, "risingwave").find_all(exp.ColumnDef)
    stamp = {column.name: column for column in columns}["ts"].find(exp.ComputedColumnConstraint)
    assert stamp is not None
    context = context_with(events, "raw")
    as_ts = f"CAST({stamp.this.sql('postgres')} AS TIMESTAMP)"
    context.sql(f"CREATE VIEW jetlag_events AS SELECT *, {as_ts} AS ts FROM raw").collect()

    select, on_close = view.split("EMIT ON WINDOW CLOSE")
    assert not on_close.strip()
    tumble = "TUMBLE(jetlag_events, ts, INTERVAL '10 seconds')"
    assert tumble in select
    binned = f"(SELECT *, {BIN} + INTERVAL '10 seconds' AS window_end FROM jetlag_events) AS tumbled"
    parsed = sqlglot.parse_one(select.replace(tumble, binned), "risingwave")
    assert isinstance(parsed, exp.Create)
    context.sql(f"CREATE VIEW jetlag_windows AS {parsed.expression.sql('postgres')}").collect()

    found: dict[tuple[str, int], tuple[int, int, int, int]] = {}
    for partition, sink in enumerate(sinks):
        parsed = sqlglot.parse_one(sink, "risingwave")
        assert isinstance(parsed, exp.Create)
        assert f"subject = 'results.rw.{partition}'" in sink
        rows = as_truth(context.sql(parsed.expression.sql("postgres")).to_arrow_table())
        assert {partition_of(key) for key, _ in rows} <= {partition}
        found |= rows
    assert found == truth()


def test_risingwave_s_rows_for_tidb_are_the_table_s_columns() -> None:
    """RisingWave matches columns by name: one that the table does not have stops the sink."""
    sink = statements(create_statements(replace(JOB, sink="tidb", tidb=TIDB))[-1])[0]
    parsed = sqlglot.parse_one(sink, "risingwave")
    assert parsed.expression.named_selects == ["variant", *FIELDS]
    assert "primary_key = 'variant,run_id,key,window_end_ms'" in sink
    assert "password=p%26ss%27wd" in sink
