"""Ranges read by direct gets from a real server: the same events as by a consumer, holes and all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from spark_jobs.jetstream import fetch
from spark_jobs.jetstream.direct import events_a_request
from spark_jobs.jetstream.errors import DataLossError
from spark_jobs.jetstream.fetch import read_range
from spark_jobs.jetstream.link import with_link
from spark_jobs.jetstream.options import SourceOptions
from spark_jobs.jetstream.stream import read_state
from tests.jetstream_call import on_jetstream
from tests.stream_in_files import fill_in_files

pytestmark = pytest.mark.infra
EVENTS = 3_000


@pytest.fixture(scope="module")
def server() -> Iterator[LocalNats]:
    service = LocalNats()
    with running(service):
        yield service


@pytest.fixture
def options(server: LocalNats, request: pytest.FixtureRequest) -> SourceOptions:
    """A stream in files with EVENTS events, each of which is its own number."""
    payloads = [b"%d" % number for number in range(1, EVENTS + 1)]
    return fill_in_files(server.endpoint, f"S_{request.node.name}", payloads, format="binary")


def read(options: SourceOptions, first: int, end: int, direct: int) -> list[int]:
    chunks = read_range(options, first, end, direct, lambda chunk: chunk.batch.payloads()[: len(chunk.seqs)])
    return [int(text) for payloads in chunks for text in payloads]


def test_a_range_is_read_without_a_consumer(options, monkeypatch):
    """The cheap way would never be taken, and nobody would know."""
    state = with_link(options, lambda link: read_state(link, options.stream))
    assert events_a_request(state, 700) == 700
    asked = []
    monkeypatch.setattr(fetch, "fetch_range", lambda _options, first, end: asked.append((first, end)) or [])
    assert read(options, 11, 2_950, 700) == list(range(11, 2_950))
    assert asked == [(2_950, 2_950)]


def test_an_event_deleted_meanwhile_is_data_loss_and_nothing_else_is(options, server):
    """The server answers a hole with later events: they would be read twice, and the hole not be seen."""
    on_jetstream(server.endpoint, lambda js: js.delete_msg(options.stream, 1_500))
    with pytest.raises(DataLossError, match="no longer holds 1 of the sequences"):
        read(options, 1, EVENTS + 1, 700)
    left = [number for number in range(1, EVENTS + 1) if number != 1_500]
    assert read(replace(options, fail_on_data_loss=False), 1, EVENTS + 1, 700) == left
    assert read(options, 1, 1_400, 700) == list(range(1, 1_400)), "the link was spoilt"


def test_a_range_that_spark_gives_up_does_not_meet_the_next(options):
    """Answers on their way to an abandoned task would be another one's events."""
    abandoned = read_range(options, 1, EVENTS + 1, 100, lambda chunk: len(chunk.seqs))
    next(abandoned)
    abandoned.close()
    assert read(options, 500, 900, 100) == list(range(500, 900))
