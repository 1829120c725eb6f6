"""The two streams of the suite: messages to the engine, and what it says has ended."""

from __future__ import annotations

import json
from typing import Any

from bench.infra.endpoint import NatsEndpoint
from bench.stream_admin import StreamAdmin
from spark_jobs.jetstream.fetch import fetch_range
from spark_jobs.jetstream.options import SinkOptions, SourceOptions, parse_sink, parse_source
from spark_jobs.statestore.names import ENDED, ENDED_SUBJECT, EVENTS, EVENTS_SUBJECT

SUBJECTS = {EVENTS: f"{EVENTS_SUBJECT}.*", ENDED: f"{ENDED_SUBJECT}.*"}


class StateStoreStreams(StreamAdmin):
    def __enter__(self) -> StateStoreStreams:
        super().__enter__()
        return self

    def make_all(self) -> None:
        """Empty."""
        for name, subject in SUBJECTS.items():
            self.remake_on_file(name, subject)

    def delete_all(self) -> None:
        for name in SUBJECTS:
            self.delete_stream(name)

    def present(self) -> bool:
        return all(self.stream(name) is not None for name in SUBJECTS)


def _access(nats: NatsEndpoint) -> dict[str, str]:
    access = {"servers": nats.url}
    return access | ({"user": nats.user, "password": nats.password} if nats.user else {})


def sink_options(nats: NatsEndpoint) -> SinkOptions:
    return parse_sink({"stream": EVENTS, **_access(nats)})


def _source_options(nats: NatsEndpoint) -> SourceOptions:
    return parse_source({"stream": ENDED, "format": "binary", **_access(nats)})


def read_endings(nats: NatsEndpoint, stored: int) -> list[dict[str, Any]]:
    """Everything the engine has said, in order: kind, number, what."""
    told: list[dict[str, Any]] = []
    if stored:
        for chunk in fetch_range(_source_options(nats), 1, stored + 1):
            told += [json.loads(payload) for payload in chunk.batch.payloads()[: len(chunk.seqs)]]
    return told
