"""Who takes part, and in which order: all take turns within a round, and each round starts with another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.driverbench import natspy, ours, writing
from bench.driverbench.broker import Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.natscli import NatsBench
from bench.driverbench.ours import Load, Spent
from bench.driverbench.ratios import (
    BARE_INSERT,
    NATS_ASYNC,
    NATS_BATCH,
    NATS_FETCH,
    NATS_ORDERED,
    OBSERVER,
    OBSERVER_ACK_ALL,
    PRODUCER,
    WRITER,
)
from bench.driverbench.turn import Turn

#: nats-py needs some fifty times our CPU: fewer messages show as much.
NATS_PY_SHARE = 10
#: nats bench keeps 500 in flight unless told otherwise; as a courtesy it also runs with windows like ours.
PUBLISH_WINDOW = "--batch=4096"
FETCH_WINDOW = "--batch=4000"


@dataclass(frozen=True)
class Contestant:
    part: str
    name: str
    messages: int
    run: Callable[[], Spent]


@dataclass(frozen=True)
class Sizes:
    messages: int
    rows: int
    rounds: int
    payload_bytes: int = 512


class Contest:
    """Plays round after round; `show` is told who is next."""

    def __init__(
        self,
        broker: Broker,
        cli: NatsBench,
        sink: writing.Sink,
        sizes: Sizes,
        show: Callable[[str], None],
    ) -> None:
        self._broker = broker
        self._cli = cli
        self._sink = sink
        self._sizes = sizes
        self._show = show

    def play(self, storages: Sequence[str]) -> list[Turn]:
        turns: list[Turn] = []
        for number in range(self._sizes.rounds):
            for storage in storages:
                turns += self._publishing(storage, number)
                turns += self._consuming(storage, number)
            turns += self._writing(number)
        return turns

    def _publishing(self, storage: str, number: int) -> Iterator[Turn]:
        for contestant in rotated(self._publishers(), number):
            self._broker.empty_stream(storage)
            yield self._turn(contestant, storage, number)
            stored = self._broker.stored()
            if stored != contestant.messages:
                raise TurnFailed(f"{contestant.name} left {stored} of {contestant.messages} messages")

    def _publishers(self) -> list[Contestant]:
        broker, cli, count, size = self._broker, self._cli, self._sizes.messages, self._sizes.payload_bytes
        few = max(1, count // NATS_PY_SHARE)
        return [
            Contestant("publish", PRODUCER, count, lambda: ours.publish(broker, Load(count, size))),
            Contestant("publish", NATS_ASYNC, count, lambda: cli.publish("async", count, size)),
            Contestant(
                "publish",
                f"{NATS_ASYNC} {PUBLISH_WINDOW}",
                count,
                lambda: cli.publish("async", count, size, PUBLISH_WINDOW),
            ),
            Contestant("publish", NATS_BATCH, count, lambda: cli.publish("batch", count, size)),
            Contestant("publish", "nats-py publish_async", few, lambda: natspy.publish(broker, few, size)),
        ]

    def _consuming(self, storage: str, number: int) -> Iterator[Turn]:
        self._show("filling the stream")
        self._broker.empty_stream(storage)
        ours.publish(self._broker, Load(self._sizes.messages, self._sizes.payload_bytes))
        for contestant in rotated(self._consumers(), number):
            yield self._turn(contestant, storage, number)

    def _consumers(self) -> list[Contestant]:
        broker, cli, count, size = self._broker, self._cli, self._sizes.messages, self._sizes.payload_bytes
        few = max(1, count // NATS_PY_SHARE)
        load = Load(count, size)
        return [
            Contestant("consume", OBSERVER, count, lambda: ours.observe(broker, load, "none")),
            Contestant("consume", OBSERVER_ACK_ALL, count, lambda: ours.observe(broker, load, "all")),
            Contestant("consume", NATS_FETCH, count, lambda: cli.fetch(count, size)),
            Contestant(
                "consume", f"{NATS_FETCH} {FETCH_WINDOW}", count, lambda: cli.fetch(count, size, FETCH_WINDOW)
            ),
            Contestant("consume", NATS_ORDERED, count, lambda: cli.ordered(count, size)),
            Contestant("consume", "nats-py fetch", few, lambda: natspy.fetch(broker, few)),
        ]

    def _writing(self, number: int) -> Iterator[Turn]:
        sink, rows = self._sink, self._sizes.rows
        self._show("filling the stream")
        self._broker.empty_stream("file")
        ours.publish(self._broker, Load(rows, num_keys=rows), mock=True)
        contestants = [
            Contestant("write", WRITER, rows, lambda: writing.write(self._broker, sink, rows)),
            Contestant("write", BARE_INSERT, rows, lambda: writing.insert(sink, rows)),
        ]
        order = rotated(contestants, number)
        # There and back: the database still tidies up after the first when the second begins.
        for contestant in (*order, *reversed(order)):
            yield self._turn(contestant, "file", number)

    def _turn(self, contestant: Contestant, storage: str, number: int) -> Turn:
        self._show(f"round {number + 1} of {self._sizes.rounds}, {storage}, {contestant.name}")
        spent = contestant.run()
        return Turn(
            contestant.part,
            contestant.name,
            storage,
            number,
            spent.messages or contestant.messages,
            spent.elapsed_s,
            spent.client_cpu_s,
            spent.process_cpu_s,
            spent.server_cpu_s,
        )


def rotated(contestants: list[Contestant], number: int) -> list[Contestant]:
    """Another one first in each round: what runs after a heavy neighbour finds a warmer, busier machine."""
    first = number % len(contestants)
    return contestants[first:] + contestants[:first]
