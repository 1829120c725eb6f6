"""How long a store takes to come back: by its size, its partitions, and into how many stores it is cut."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from bench.engine.ordered_spark import OrderedSpark
from bench.infra.endpoint import NatsEndpoint
from bench.statestore.load import Growth, Launch
from bench.statestore.sender import send_growth, send_launch
from bench.statestore.streams import StateStoreStreams, sink_options
from spark_jobs.statestore.names import Stores
from spark_jobs.throughput import PREFIX

TURN_WITHIN_S = 500.0
#: A message of growth: a hundred TaskRuns of 10 KB.
GROWTH_BYTES = 1_000_000
#: Some of it is left for the batches after a restart.
_SPARE = 1_500
_WARM = 2


@dataclass(frozen=True)
class Cut:
    """How the state is cut, and how large it is."""

    stores: Stores = "one"
    partitions: int = 1
    state_mb: int = 100
    conf: Mapping[str, str] = field(default_factory=dict)
    #: Whether the speed of work on workflows is measured too.
    with_work: bool = False
    note: str = ""


@dataclass(frozen=True)
class Restore:
    stores: Stores
    partitions: int
    note: str
    state_bytes: int
    #: What the first micro-batch after the restart took beyond those that followed; medians over restarts.
    restore_s: float
    first_s: float
    later_s: float
    #: Spark's own load time, summed over its stores.
    load_s: float
    messages_per_s: float | None
    mb_per_s: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class RestoreTurns(OrderedSpark):
    """A context: one Spark; the stream holds a launch, then growth."""

    def __init__(self, nats: NatsEndpoint, launch: Launch, largest_mb: int) -> None:
        super().__init__("restore", nats, PREFIX)
        self._work = launch
        self._growth = Growth(largest_mb * GROWTH_BYTES + _SPARE * GROWTH_BYTES)

    def _command(self) -> list[str]:
        words = ["--orders", str(self._orders), "--servers", self._nats.url]
        return ["spark_jobs.statestore.restore_turns", *words]

    def __enter__(self) -> Self:
        with StateStoreStreams(self._nats) as streams:
            streams.make_all()
        send_launch(sink_options(self._nats), self._work)
        send_growth(sink_options(self._nats), self._growth)
        return super().__enter__()

    def measure(self, cut: Cut, restarts: int = 3) -> Restore:
        order = {
            "stores": cut.stores,
            "partitions": cut.partitions,
            "messages": self._work.truth.messages,
            "grown": cut.state_mb * self._growth.tasks,
            "batch_messages": 2_000,
            "batch_growth": 50,
            # Every store has something to do in each batch.
            "batch_after": 24 if cut.stores == "operators" else max(8, cut.partitions),
            "restarts": restarts,
            "conf": dict(cut.conf),
        }
        return restore_of(cut, self._answer(order, TURN_WITHIN_S))


def restore_of(cut: Cut, told: Mapping[str, Any]) -> Restore:
    firsts = [batches[0][0] for batches in told["restarts"]]
    laters = [statistics.median(ms for ms, _ in batches[1:]) for batches in told["restarts"]]
    beyond = [first - later for first, later in zip(firsts, laters, strict=True)]
    work = told["work"][_WARM:] if cut.with_work else []
    seconds = sum(ms for _, _, ms in work) / 1000
    return Restore(
        stores=cut.stores,
        partitions=cut.partitions,
        note=cut.note,
        state_bytes=told["put_bytes"],
        restore_s=statistics.median(beyond) / 1000,
        first_s=statistics.median(firsts) / 1000,
        later_s=statistics.median(laters) / 1000,
        load_s=statistics.median(batches[0][1] for batches in told["restarts"]) / 1000,
        messages_per_s=sum(count for count, _, _ in work) / seconds if seconds else None,
        mb_per_s=sum(put for _, put, _ in work) / 1e6 / seconds if seconds else None,
    )
