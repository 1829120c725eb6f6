"""Six faults that once hid behind a slow source elsewhere, each as it would show in ours."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from nats.js.api import DiscardPolicy, StorageType, StreamConfig
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType

from bench.infra.local_nats import LocalNats
from bench.infra.ports import free_ports
from bench.infra.service import running
from bench.infra.waiting import wait_until
from bench.source.truth import kept_totals
from bench.source.turn import JETSTREAM
from spark_jobs.jetstream.errors import PublishError
from spark_jobs.jetstream.link import drop_link
from spark_jobs.jetstream.options import parse_sink, parse_source
from spark_jobs.jetstream.sink import publish_rows
from spark_jobs.jetstream.source import JetStreamReader
from tests.cases.source.recording_proxy import RecordingProxy
from tests.jetstream_call import on_jetstream

pytestmark = pytest.mark.source

NUMBER = StructType([StructField("n", LongType()), StructField("_seq", LongType())])
_names = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[LocalNats]:
    with running(LocalNats()) as server:
        yield server


class Bed:
    """A stream of its own for each test, filled by the sink's publisher and read by the source's reader."""

    def __init__(self, server: LocalNats) -> None:
        self.server, self.stream = server, f"R{next(_names)}"

    def call(self, use):
        return on_jetstream(self.server.endpoint, use)

    def make(self, **settings) -> None:
        subjects = [f"{self.stream}.*"]
        config = StreamConfig(name=self.stream, subjects=subjects, storage=StorageType.MEMORY, **settings)
        self.call(lambda js: js.add_stream(config))

    def options(self, **more: str) -> dict[str, str]:
        endpoint = self.server.endpoint
        access = {"servers": endpoint.url, "user": endpoint.user, "password": endpoint.password}
        return access | {"stream": self.stream, "retryTimeoutMs": "5000"} | more

    def publish(self, bodies: list[bytes], **more: str):
        subjects = pa.array([f"{self.stream}.{i % 3}" for i in range(len(bodies))])
        ids = pa.array([f"{self.stream}-{i}" for i in range(len(bodies))])
        return publish_rows(parse_sink(self.options(**more)), [(subjects, ids, pa.array(bodies))])

    def numbers(self, first: int, last: int) -> None:
        subjects = pa.array([f"{self.stream}.{n % 3}" for n in range(first, last + 1)])
        ids = pa.array([str(n) for n in range(first, last + 1)])
        bodies = pa.array([b'{"n":%d}' % n for n in range(first, last + 1)])
        publish_rows(parse_sink(self.options()), [(subjects, ids, bodies)])

    def read(self, **more: str) -> list[int]:
        """What a new streaming query would read, by the calls that Spark makes."""
        options = parse_source(self.options(**more))
        reader = JetStreamReader(NUMBER, options)
        try:
            start = reader.initialOffset()
            end = reader.latestOffset(start, ReadAllAvailable())
            parts = reader.partitions(start, end)
            rows = [row["n"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
            reader.commit(end)
            return rows
        finally:
            drop_link(options)

    def stored(self) -> int:
        return self.call(lambda js: js.stream_info(self.stream)).state.messages


@pytest.fixture
def bed(server) -> Bed:
    return Bed(server)


def test_a_sink_under_back_pressure_drops_nothing(bed):
    """Rows that a busy server does not take at once would be thrown away with a warning, or without one."""
    bed.make()
    count, outcome = 30_000, []
    bodies = [b'{"n":%d,"pad":"%s"}' % (n, b"x" * 400) for n in range(count)]
    publisher = threading.Thread(target=lambda: outcome.append(bed.publish(bodies, maxInFlight="50")))
    publisher.start()
    wait_until(bed.stored, 10, "nothing is stored", interval_s=0.001)
    bed.server.pause()
    try:
        time.sleep(1.0)  # longer than any buffer on the way can hide
        assert publisher.is_alive(), "everything was sent before the server stopped to take it"
    finally:
        bed.server.resume()
    publisher.join(30)
    assert [(told.rows, told.deduplicated) for told in outcome] == [(count, 0)]
    assert sorted(bed.read()) == list(range(count))


def test_a_sink_whose_stream_is_full_says_so(bed):
    """Results would be missing although the query goes on."""
    bed.make(max_msgs=100, discard=DiscardPolicy.NEW)
    with pytest.raises(PublishError, match=r"refused .* rows.*maximum messages exceeded"):
        bed.publish([b"%d" % n for n in range(1_000)])
    assert bed.stored() == 100


def test_a_refusal_does_not_spoil_the_next_rows(server):
    """A task that Spark tries again in the same worker would wait for answers that cannot come."""
    full, open_ = Bed(server), Bed(server)
    full.make(max_msgs=1, discard=DiscardPolicy.NEW)
    open_.make()
    with pytest.raises(PublishError):
        full.publish([b"1", b"2"])
    open_.numbers(1, 30)
    assert open_.read() == list(range(1, 31))


def test_windows_go_by_the_events_own_time_on_replay(spark, backlogs):
    """Windows over a replayed hour would all be the present one, or never close."""
    backlog = backlogs.of(20_000)
    turn = spark.play(backlog, JETSTREAM, "aggregate", window_ms=100)
    totals, truth = turn.detail["totals"], kept_totals(1, backlog.events)
    assert (totals["count"], totals["sum_value"]) == (truth.count, truth.sum_value)
    first_end_ms = backlog.first_stamp_ms // 100 * 100 + 100
    assert totals["first_end_ms"] == first_end_ms
    assert first_end_ms + 100 <= totals["last_end_ms"] <= backlog.last_stamp_ms + 100


def test_every_server_of_a_list_is_tried(bed):
    """Of a list only the first server, or none, would be used: with one node down the cluster is lost."""
    bed.make()
    bed.numbers(1, 30)
    dead, live = f"nats://127.0.0.1:{free_ports(1)[0]}", bed.server.endpoint.url
    assert bed.read(servers=f"{dead},{live}") == list(range(1, 31))
    assert bed.read(servers=f"{live}, {dead}") == list(range(1, 31))


def test_every_subject_of_a_list_is_read(bed):
    """Only one subject of a list would be read, and the others' events be taken for not there."""
    bed.make()
    bed.numbers(1, 30)
    subjects = f"{bed.stream}.0, {bed.stream}.2"
    assert bed.read(subjects=subjects) == [n for n in range(1, 31) if n % 3 != 1]


def test_the_starting_offset_is_honoured(bed):
    """A query would begin at the newest event whatever the user says."""
    bed.make()
    bed.numbers(1, 10)
    time.sleep(0.002)
    middle = datetime.now(UTC)
    bed.numbers(11, 20)
    for text, wanted in (
        ("earliest", range(1, 21)),
        ("latest", range(0)),
        ("15", range(15, 21)),
        (middle.isoformat(), range(11, 21)),
    ):
        assert bed.read(startingOffset=text) == list(wanted), text


#: What the server's API and its CONNECT know; an option of ours among them would be refused, or be obeyed.
CONNECT_FIELDS = {
    *("verbose", "pedantic", "headers", "no_responders", "protocol", "lang", "version", "name"),
    *("user", "pass", "auth_token"),
}
CONSUMER_FIELDS = {
    *("name", "deliver_policy", "opt_start_seq", "ack_policy", "replay_policy", "inactive_threshold"),
    *("mem_storage", "num_replicas", "filter_subjects", "durable_name"),
}
API_FIELDS = {"stream_name", "config", "action", "batch", "max_bytes", "expires", "seq"}


def test_no_option_of_the_source_reaches_the_server(bed, tmp_path):
    """The server would refuse a field that it does not know, or one of ours would change the client."""
    bed.make()
    bed.numbers(1, 30)
    ours = {
        "startingOffset": "3",
        "maxOffsetsPerTrigger": "77777777",
        "minOffsetsPerTrigger": "1",
        "maxTriggerDelayMs": "88888888",
        "minPartitions": "2",
        "failOnDataLoss": "false",
        "lingerMs": "17",
        "connectTimeoutMs": "66666666",
        "durable": "dur_X",
        "mode": "PERMISSIVE",
        "timings": str(tmp_path),
    }
    endpoint = bed.server.endpoint
    with RecordingProxy(endpoint.host, endpoint.port) as proxy:
        assert bed.read(servers=proxy.url, **ours) == list(range(3, 31))
        sent = proxy.sent()
    connects = [json.loads(line[8:]) for line in sent.split(b"\r\n") if line.startswith(b"CONNECT ")]
    assert connects
    assert all(connect.keys() <= CONNECT_FIELDS for connect in connects)
    bodies = [json.loads(line) for line in sent.split(b"\r\n") if line.startswith(b"{")]
    configs = [body["config"] for body in bodies if "config" in body]
    assert configs
    assert all(body.keys() <= API_FIELDS for body in bodies)
    assert all(config.keys() <= CONSUMER_FIELDS for config in configs)
    # The durable is the one thing that is meant for the server, as durable_name.
    spelt = [word for name, text in ours.items() if name != "durable" for word in (name, text)]
    assert [word for word in spelt if len(word) >= 8 and word.encode() in sent] == []


def test_bad_rows_are_told_once_and_not_one_by_one(bed, capfd):
    """A stream of bad rows would be read at the speed at which its log is printed."""
    bed.make()
    bed.publish([b"junk"] * 300)
    assert bed.read(mode="PERMISSIVE", fetchBatch="1") == [None] * 300
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        f"jetstream: 300 bad rows, the first at sequence 1 of stream {bed.stream}"
    ]


def test_the_job_prints_nothing_for_an_event(spark, backlogs):
    """The pipeline would run at the speed of whoever reads its output."""
    backlog = backlogs.of(20_000)
    spark.play(backlog, JETSTREAM, "filter")  # behind what the JVM says when it starts
    before = spark.log_lines()
    spark.play(backlog, JETSTREAM, "filter")
    assert spark.log_lines() - before == 1, "one line a turn, which is the turn's own"
