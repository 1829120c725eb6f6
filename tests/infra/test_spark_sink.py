"""format("jetstream") as a sink, and the TiDB sink, on real servers: each row once, refusals told."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.contract.result import FIELDS
from bench.contract.table import CREATE_TABLE, TABLE
from bench.infra.local_nats import LocalNats
from bench.infra.local_tidb import LocalTidb
from bench.infra.ports import free_ports
from bench.infra.service import running
from bench.infra.tidb_account import connect_tidb
from spark_jobs.failure import one_line
from spark_jobs.jetstream.errors import PublishError
from spark_jobs.jetstream.options import parse_sink
from spark_jobs.jetstream.sink import publish_rows
from spark_jobs.session import build_session
from spark_jobs.tidb_sink import TidbError, TidbOptions, upsert_rows
from tests.jetstream_call import on_jetstream

pytestmark = pytest.mark.infra

_T = TypeVar("_T")
_names = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        yield service


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = build_session("test_spark_sink", "local[2]", {})
    yield session
    session.stop()


class Bed:
    """A target stream of its own for each test; its input is Spark's own counting source."""

    def __init__(self, server: LocalNats, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.stream = f"T{next(_names)}"

    def call(self, use: Callable[[JetStreamContext], Awaitable[_T]]) -> _T:
        return on_jetstream(self.server.endpoint, use)

    def make(self, **settings: Any) -> None:
        subjects = [f"{self.stream}.*"]
        config = StreamConfig(name=self.stream, subjects=subjects, storage=StorageType.MEMORY, **settings)
        self.call(lambda js: js.add_stream(config))

    def stored(self) -> list[str]:
        async def read(js: JetStreamContext) -> list[str]:
            count = (await js.stream_info(self.stream)).state.messages
            subscription = await js.subscribe(f"{self.stream}.*", ordered_consumer=True)
            return [(await subscription.next_msg(timeout=10)).data.decode() for _ in range(count)]

        return self.call(read)

    def options(self, **options: str) -> dict[str, str]:
        endpoint = self.server.endpoint
        access = {"servers": endpoint.url, "user": endpoint.user, "password": endpoint.password}
        return access | {"stream": self.stream, "retryTimeoutMs": "2000"} | options

    def start(self, rows: DataFrame, **options: str) -> StreamingQuery:
        writer = rows.writeStream.format("jetstream").options(**self.options(**options))
        writer = writer.option("checkpointLocation", str(self.folder / "sink"))
        return writer.trigger(availableNow=True).start()


@pytest.fixture
def bed(server: LocalNats, tmp_path: Path) -> Bed:
    return Bed(server, tmp_path)


def numbers(spark: SparkSession, folder: Path, count: int) -> DataFrame:
    """0 to count - 1, out of three files, one a micro-batch."""
    files = folder / "numbers"
    files.mkdir(exist_ok=True)
    for part in range(3):
        text = "".join(f"{n}\n" for n in range(part, count, 3))
        (files / f"{part}.txt").write_text(text)
    return spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(files))


def test_each_row_is_stored_once_also_when_a_batch_is_replayed(spark: SparkSession, bed: Bed) -> None:
    """A restart would double results."""
    bed.make()
    rows = numbers(spark, bed.folder, 3000).selectExpr(
        f"concat('{bed.stream}.', value % 3) AS subject", "value"
    )
    bed.start(rows, maxInFlight="100").awaitTermination(60)
    # As if the process had died between the sink's commit and Spark's own.
    commits = sorted(
        int(path.name) for path in (bed.folder / "sink" / "commits").iterdir() if path.name.isdigit()
    )
    (bed.folder / "sink" / "commits" / str(commits[-1])).unlink()
    bed.start(rows).awaitTermination(60)
    assert (bed.folder / "sink" / "commits" / str(commits[-1])).exists(), "the batch was not replayed"
    assert sorted(int(body) for body in bed.stored()) == list(range(3000))


@pytest.mark.parametrize(
    ("settings", "why"), [({"max_msg_size": 1}, "message size"), (None, "no stream listens")]
)
def test_a_refused_row_fails_the_batch(
    spark: SparkSession, bed: Bed, settings: dict[str, Any] | None, why: str
) -> None:
    """Results would be missing although the query goes on."""
    if settings is not None:
        bed.make(**settings)
    rows = numbers(spark, bed.folder, 9).selectExpr("concat('number ', value) AS value")
    query = bed.start(rows, subject=f"{bed.stream}.x")
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination(60)
    assert "refused 3 rows" in one_line(caught.value)
    assert why in one_line(caught.value)


def test_a_column_the_sink_does_not_know_is_told_by_name(spark: SparkSession, bed: Bed) -> None:
    """A misspelt msg_id would be dropped in silence, and with it the deduplication."""
    bed.make()
    rows = numbers(spark, bed.folder, 3).selectExpr("value", "value AS message_id")
    with pytest.raises(PySparkException) as caught:
        bed.start(rows, subject=f"{bed.stream}.x").awaitTermination(60)
    assert "column message_id" in one_line(caught.value)


def test_the_same_id_is_stored_once_and_said_to_be(bed: Bed) -> None:
    """The sink would count a duplicate as a new row."""
    bed.make()
    subjects, ids = pa.array([f"{bed.stream}.1"] * 3), pa.array(["a", "b", "a"])
    published = publish_rows(parse_sink(bed.options()), [(subjects, ids, pa.array(["1", "2", "1"]))])
    assert (published.rows, published.deduplicated) == (3, 1)
    assert sorted(bed.stored()) == ["1", "2"]


@pytest.mark.parametrize("subject", ["T.1 2", "T.1\r\nPUB x 0", "T.*", ""])
def test_a_subject_cannot_carry_a_command(bed: Bed, subject: str) -> None:
    """A row's text would be taken for a command by the server."""
    columns = (pa.array([subject]), pa.array(["id"]), pa.array(["v"]))
    with pytest.raises(PublishError, match="column subject"):
        publish_rows(parse_sink(bed.options()), [columns])


def result_columns(count: int, sum_value: int) -> list[pa.Array]:
    rows = [("run", f"k{n}", 10_000, 1, sum_value, n, 9_000) for n in range(count)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    assert len(columns) == len(FIELDS)
    return columns


def test_tidb_takes_rows_twice_and_keeps_them_once() -> None:
    """A replayed micro-batch would double rows, or a corrected one leave the old value."""
    with running(LocalTidb()) as tidb:
        endpoint = tidb.endpoint
        options = TidbOptions(endpoint.host, endpoint.port, endpoint.user, endpoint.password, batch_rows=100)
        connection = connect_tidb(endpoint)
        with connection.cursor() as cursor:
            cursor.execute(CREATE_TABLE)
        assert upsert_rows(options, result_columns(1050, 5)) == 1050
        assert upsert_rows(options, result_columns(1050, 7)) == 1050
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*), SUM(sum_value), MIN(variant) FROM {TABLE}")
            assert tuple(cursor.fetchone() or ()) == (1050, 7350, "spark")
        connection.close()
        wrong = TidbOptions(endpoint.host, endpoint.port, endpoint.user, "wrong")
        with pytest.raises(TidbError, match="refused 1 rows"):
            upsert_rows(wrong, result_columns(1, 1))


def test_a_dead_database_fails_after_a_bound() -> None:
    """A task would wait for ever, or report rows that nobody stored."""
    options = TidbOptions("127.0.0.1", free_ports(1)[0], "u", "p", retry_timeout_ms=300)
    with pytest.raises(TidbError, match="took no rows for 300 ms"):
        upsert_rows(options, result_columns(1, 1))
