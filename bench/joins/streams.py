"""The suite's streams: one a topic, and one for what was joined."""

from __future__ import annotations

from collections.abc import Sequence

from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

from bench.stream_admin import DUPLICATE_WINDOW_S, OWNER_MARK, StreamAdmin

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
            self._make(stream_of(topic), subject_of(topic))

    def make_joined(self) -> None:
        self._make(JOINED, JOINED_SUBJECT)

    def _make(self, name: str, subject: str) -> None:
        self.delete_stream(name)
        config = StreamConfig(
            name=name,
            subjects=[subject],
            storage=StorageType.FILE,
            allow_direct=True,
            duplicate_window=DUPLICATE_WINDOW_S,
            metadata=OWNER_MARK,
        )
        self._run(self._js().add_stream(config))

    def delete(self, topics: Sequence[str]) -> None:
        for name in (JOINED, *map(stream_of, topics)):
            self.delete_stream(name)

    def count(self, name: str) -> int:
        info = self.stream(name)
        return 0 if info is None else info.state.messages

    def make_reader(self, name: str) -> None:
        """Of all that was joined, from the first row on."""
        config = ConsumerConfig(
            name=name, ack_policy=AckPolicy.NONE, mem_storage=True, inactive_threshold=60.0
        )
        self._run(self._js().add_consumer(JOINED, config))
