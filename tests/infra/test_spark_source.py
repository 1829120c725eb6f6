"""format("jetstream") as a source, on a real server and a real Spark: what it reads, reads again, refuses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from spark_jobs.failure import one_line
from spark_jobs.jetstream.columns import METADATA
from spark_jobs.session import build_session
from tests.jetstream_call import on_jetstream

pytestmark = pytest.mark.infra

_T = TypeVar("_T")
_names = itertools.count()
NUMBER = StructType([StructField("n", LongType())])
ALL_METADATA = StructType([*NUMBER.fields, *[StructField(name, kind) for name, kind in METADATA.items()]])
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        yield service


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = build_session("test_spark_source", "local[2]", {})
    yield session
    session.stop()


class Bed:
    """A stream of its own for each test, and a short way to fill it and to read it with Spark."""

    def __init__(self, spark: SparkSession, server: LocalNats, folder: Path) -> None:
        self.spark, self.server, self.folder = spark, server, folder
        self.stream = f"S{next(_names)}"

    def call(self, use: Callable[[JetStreamContext], Awaitable[_T]]) -> _T:
        return on_jetstream(self.server.endpoint, use)

    def make(self, name: str = "", **settings: Any) -> None:
        name = name or self.stream
        config = StreamConfig(name=name, subjects=[f"{name}.*"], storage=StorageType.MEMORY, **settings)
        self.call(lambda js: js.add_stream(config))

    def publish(self, bodies: list[bytes], headers: dict[str, str] | None = None) -> None:
        async def all_of(js: JetStreamContext) -> None:
            for i, body in enumerate(bodies):
                await js.publish(f"{self.stream}.{i % 2}", body, headers=headers)

        self.call(all_of)

    def numbers(self, first: int, last: int) -> None:
        self.publish([b'{"n":%d}' % n for n in range(first, last + 1)])

    def options(self, **options: str) -> dict[str, str]:
        endpoint = self.server.endpoint
        access = {"servers": endpoint.url, "user": endpoint.user, "password": endpoint.password}
        return access | {"stream": self.stream, "retryTimeoutMs": "2000"} | options

    def frame(self, schema: StructType = NUMBER, **options: str) -> DataFrame:
        return (
            self.spark.readStream.format("jetstream").options(**self.options(**options)).schema(schema).load()
        )

    def batches(self, schema: StructType = NUMBER, fail_at: int = -1, **options: str) -> dict[int, Rows]:
        """All there is (AvailableNow), by micro-batch; goes on from this test's checkpoint."""
        found: dict[int, Rows] = {}

        def keep(frame: DataFrame, batch_id: int) -> None:
            found[batch_id] = [row.asDict(recursive=True) for row in frame.collect()]
            if batch_id == fail_at:
                raise RuntimeError("asked to fail")

        query = (
            self.frame(schema, **options)
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(60)
        except PySparkException:
            if fail_at < 0:
                raise
        return found

    def read(self, schema: StructType = NUMBER, **options: str) -> Rows:
        return [row for rows in self.batches(schema, **options).values() for row in rows]


@pytest.fixture
def bed(spark: SparkSession, server: LocalNats, tmp_path: Path) -> Bed:
    return Bed(spark, server, tmp_path)


def numbers_of(rows: Rows) -> list[int]:
    return sorted(row["n"] for row in rows)


def test_each_event_once_with_its_metadata(bed: Bed) -> None:
    """Offsets would skip or repeat events, or name the wrong ones."""
    bed.make()
    before = datetime.now(UTC)
    bed.publish([b'{"n":%d}' % n for n in range(1, 1201)], {"Trace": "a b"})
    rows = bed.read(ALL_METADATA, minPartitions="2", fetchBatch="100")
    assert numbers_of(rows) == list(range(1, 1201))
    for row in rows:
        assert row["_seq"] == row["n"]
        assert row["_subject"] == f"{bed.stream}.{(row['n'] - 1) % 2}"
        assert row["_headers"] == [{"key": "Trace", "value": "a b"}]
        assert row["_stored_ts"] == row["_ingest_ts"]
        assert row["_stored_ts"].replace(tzinfo=UTC) >= before.replace(microsecond=0)
        assert (row["_tick"], row["_corrupt_record"]) == (None, None)


def test_a_failed_batch_is_read_again_exactly(bed: Bed) -> None:
    """After a crash a micro-batch would hold other events than before, and counts would be wrong."""
    bed.make()
    bed.numbers(1, 30)
    first = bed.batches(fail_at=1, maxOffsetsPerTrigger="10")
    assert sorted(first) == [0, 1]
    bed.numbers(31, 50)
    again = bed.batches(maxOffsetsPerTrigger="10")
    assert again[1] == first[1]
    assert 0 not in again
    assert numbers_of([row for rows in again.values() for row in rows]) == list(range(11, 51))


def test_the_limit_is_honoured(bed: Bed) -> None:
    """A large backlog would come as one micro-batch and exhaust the executors."""
    bed.make()
    bed.numbers(1, 25)
    assert [len(rows) for rows in bed.batches(maxOffsetsPerTrigger="10").values()] == [10, 10, 5]


def test_available_now_ends_and_goes_on_next_time(bed: Bed) -> None:
    """A scheduled job would never end, or read everything again each time."""
    bed.make()
    bed.numbers(1, 5)
    assert numbers_of(bed.read()) == [1, 2, 3, 4, 5]
    bed.numbers(6, 8)
    assert numbers_of(bed.read()) == [6, 7, 8]
    assert bed.read() == []


def test_starting_offsets(bed: Bed) -> None:
    """A new query would begin at the wrong event."""
    bed.make()
    bed.numbers(1, 4)
    middle = datetime.now(UTC)
    bed.numbers(5, 9)

    def start(text: str) -> list[int]:
        rows = bed.spark.read.format("jetstream").schema(NUMBER)
        return sorted(row["n"] for row in rows.options(**bed.options(startingOffset=text)).load().collect())

    assert start("earliest") == list(range(1, 10))
    assert start("latest") == []
    assert start("7") == [7, 8, 9]
    assert start(middle.isoformat()) == [5, 6, 7, 8, 9]
    assert start("2000-01-01T00:00:00Z") == list(range(1, 10))
    assert start("2100-01-01T00:00:00Z") == []


def test_subjects_are_filtered_by_the_server(bed: Bed) -> None:
    """A query on one subject would read them all, or take the others for lost."""
    bed.make()
    bed.numbers(1, 9)
    assert numbers_of(bed.read(subjects=f"{bed.stream}.1")) == [2, 4, 6, 8]


def test_a_purge_fails_the_query_or_is_passed_over_as_asked(bed: Bed) -> None:
    """Lost events would go unnoticed, or a user who accepts the loss could not go on."""
    bed.make()
    bed.numbers(1, 10)
    assert len(bed.batches(maxOffsetsPerTrigger="4", fail_at=1)) == 2
    bed.call(lambda js: js.purge_stream(bed.stream, seq=7))
    with pytest.raises(PySparkException) as caught:
        bed.read()
    assert f"stream {bed.stream} no longer holds 2 of the sequences" in one_line(caught.value)
    assert numbers_of(bed.read(failOnDataLoss="false")) == [7, 8, 9, 10]


def test_a_deleted_event_is_data_loss_too(bed: Bed) -> None:
    """A hole in the middle of a range would go unnoticed."""
    bed.make()
    bed.numbers(1, 6)
    bed.call(lambda js: js.delete_msg(bed.stream, 3))
    with pytest.raises(PySparkException, match="no longer holds 1 of the sequences"):
        bed.read()
    assert numbers_of(bed.read(failOnDataLoss="false")) == [1, 2, 4, 5, 6]


def test_a_missing_stream_is_told_by_name(bed: Bed) -> None:
    """The user would see a stack trace of the wire protocol."""
    with pytest.raises(PySparkException) as caught:
        bed.read()
    assert one_line(caught.value) == f"stream {bed.stream} does not exist on this server"


def test_a_server_that_is_gone_is_an_error_after_a_bound(bed: Bed) -> None:
    """A query would hang for ever on a wrong address."""
    with pytest.raises(PySparkException) as caught:
        bed.read(servers="nats://127.0.0.1:1", retryTimeoutMs="300")
    assert "gave up after 300 ms" in one_line(caught.value)


def test_bad_rows_by_mode(bed: Bed) -> None:
    """One bad payload would stop every query, or vanish where it must be told."""
    bed.make()
    bed.publish([b'{"n":1}', b"junk", b'{"n":3}'])
    with pytest.raises(PySparkException) as caught:
        bed.read()
    assert one_line(caught.value).startswith(f"sequence 2 of stream {bed.stream} is not JSON of this schema")
    assert numbers_of(bed.read(mode="DROPMALFORMED")) == [1, 3]
    schema = StructType([*NUMBER.fields, StructField("_corrupt_record", StringType())])
    frame = bed.spark.read.format("jetstream").schema(schema).options(**bed.options(mode="PERMISSIVE")).load()
    assert [(row["n"], row["_corrupt_record"]) for row in frame.collect()] == [
        (1, None),
        (None, "junk"),
        (3, None),
    ]


def test_binary_format_needs_no_schema(bed: Bed) -> None:
    """Payloads that are not JSON could not be read at all."""
    bed.make()
    bed.publish([b"\x00\xff", b""])
    frame = bed.spark.read.format("jetstream").options(**bed.options(format="binary")).load()
    assert [(bytes(row["value"]), row["_seq"]) for row in frame.collect()] == [(b"\x00\xff", 1), (b"", 2)]


def test_the_durable_shows_sparks_progress(bed: Bed) -> None:
    """`nats consumer info` would tell a lag that is not Spark's."""
    bed.make()
    bed.numbers(1, 10)
    bed.batches(durable="dur_X", maxOffsetsPerTrigger="4")
    bed.numbers(11, 12)
    info = bed.call(lambda js: js.consumer_info(bed.stream, "dur_X"))
    # Spark commits a batch when it plans the next one, so the last is not told of yet.
    assert (info.ack_floor.stream_seq, info.num_pending) == (8, 4)


def test_progress_reports_the_backlog(bed: Bed) -> None:
    """A query that falls behind would look healthy."""
    bed.make()
    bed.numbers(1, 20)
    query = bed.frame(maxOffsetsPerTrigger="5").writeStream.format("noop").start()
    try:
        query.processAllAvailable()
        first = json.loads(query.recentProgress[0].json)["sources"][0]
    finally:
        query.stop()
    latest = first["latestOffset"]
    assert (json.loads(latest) if isinstance(latest, str) else latest)["seq"] == 21
