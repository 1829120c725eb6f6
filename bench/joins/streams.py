"""The suite's streams: one a topic, and one for what was joined."""

from __future__ import annotations

from collections.abc import Sequence

from nats.js.api import AckPolicy, ConsumerConfig

from bench.stream_admin import StreamAdmin

JOINED = "JOINED"
JOINED_SUBJECT = "joined"


def stream_of(topic: str) -> str:
    return f"JOIN_{topic}"


def subject_of(topic: str) -> str:
    return f"join.{topic}"


class JoinStreams(StreamAdmin):
    def __enter__(self) -> JoinStreams:
        super().__enter__()
        return self

    def make_topics(self, topics: Sequence[str]) -> None:
        """Empty; what an earlier run left under the same names is deleted."""
        for topic in topics:
            self.remake_on_file(stream_of(topic), subject_of(topic))

    def make_joined(self) -> None:
        self.remake_on_file(JOINED, JOINED_SUBJECT)

    def delete(self, topics: Sequence[str]) -> None:
        for name in (JOINED, *map(stream_of, topics)):
            self.delete_stream(name)

    def make_reader(self, name: str) -> None:
        """Of all that was joined, from the first row on."""
        config = ConsumerConfig(
            name=name, ack_policy=AckPolicy.NONE, mem_storage=True, inactive_threshold=60.0
        )
        self._run(self._js().add_consumer(JOINED, config))
