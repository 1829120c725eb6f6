"""The named durable that shows Spark's progress on the server: `nats consumer info` then tells Spark's lag.

Spark's own offsets, in its checkpoint, decide what is read; nobody fetches from this consumer. It is moved
by the server's reset request (nats-server 2.14 and later); an older server gets the consumer made anew at
the place. Acknowledging would mean to have every event delivered a second time, only to count it.
"""

from __future__ import annotations

from typing import Any

from spark_jobs.jetstream.errors import JetStreamError
from spark_jobs.jetstream.link import Link, NotNowError

_CONSUMER_NOT_FOUND = 10014
_RESET_TIMEOUT_S = 2.0


class Durable:
    def __init__(self, stream: str, name: str, subjects: tuple[str, ...]) -> None:
        self._stream, self._name, self._subjects = stream, name, subjects
        self._made = False
        self._can_reset = True

    def move(self, link: Link, next_seq: int) -> None:
        """Make the consumer show that everything before `next_seq` is done."""
        if not self._made:
            self._create(link, {"deliver_policy": "all"})
            self._made = True
        if self._can_reset:
            try:
                link.request(
                    f"CONSUMER.RESET.{self._stream}.{self._name}", {"seq": next_seq}, _RESET_TIMEOUT_S
                )
                return
            except NotNowError:
                # Either the server does not know the request, or someone deleted the consumer.
                self._can_reset = False
        self._recreate(link, next_seq)

    def _recreate(self, link: Link, next_seq: int) -> None:
        try:
            link.request(f"CONSUMER.DELETE.{self._stream}.{self._name}", {})
        except JetStreamError as error:
            if error.err_code != _CONSUMER_NOT_FOUND:
                raise
        self._create(link, {"deliver_policy": "by_start_sequence", "opt_start_seq": next_seq})

    def _create(self, link: Link, policy: dict[str, Any]) -> None:
        config: dict[str, Any] = {"durable_name": self._name, "ack_policy": "all", "replay_policy": "instant"}
        if self._subjects:
            config["filter_subjects"] = list(self._subjects)
        subject = f"CONSUMER.CREATE.{self._stream}.{self._name}"
        try:
            # Where it exists already, its start policy may differ, which cannot be changed: use it as it is.
            link.request(f"CONSUMER.INFO.{self._stream}.{self._name}", {})
        except JetStreamError as error:
            if error.err_code != _CONSUMER_NOT_FOUND:
                raise
            link.request(
                subject, {"stream_name": self._stream, "config": config | policy, "action": "create"}
            )
