"""How long a store takes to come back: by its size, its partitions, and into how many stores it is cut."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

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
GROWTH_BATCH = 50
#: After a restart a message is a hundred TaskRuns of 1 KB.
LATER_BYTES = 100_000
#: Four are looked at; the query is stopped while another one runs.
BATCHES_A_RESTART = 8
WORK_BATCH = 1_000
_WARM = 2

#: Messages, bytes put, time of the whole batch, Spark's load time (spark_jobs/statestore/restore_turns.py).
Batch = tuple[int, int, int, int]


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
    #: How the stores were loaded at the last restart, by Spark's names.
    loaded: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class RestoreTurns(OrderedSpark):
    """A context: one Spark for all cuts, which fills a store, and restarts its query."""

    def __init__(self, nats: NatsEndpoint, launch: Launch) -> None:
        super().__init__("restore", nats, PREFIX)
        self._work = launch

    def _command(self) -> list[str]:
        words = ["--orders", str(self._orders), "--servers", self._nats.url]
        return ["spark_jobs.statestore.restore_turns", *words]

    def _obeyed(self, order: dict[str, Any]) -> dict[str, Any]:
        return self._answer(order, TURN_WITHIN_S)

    def measure(self, cut: Cut, restarts: int = 3) -> Restore:
        options, launch = sink_options(self._nats), self._work
        with StateStoreStreams(self._nats) as streams:
            streams.make_all()
        self._obeyed(
            {"phase": "new", "stores": cut.stores, "partitions": cut.partitions, "conf": dict(cut.conf)}
        )
        messages, work = 0, []
        if cut.with_work:
            messages = send_launch(options, launch)
            work = self._obeyed({"phase": "run", "messages": messages, "batch": WORK_BATCH})["batches"]
        growth = Growth(cut.state_mb * GROWTH_BYTES)
        send_growth(options, growth)
        run = {"phase": "run", "messages": messages, "grown": growth.truth.grown, "batch": GROWTH_BATCH}
        filled = self._obeyed(run)["batches"]
        # Every store has something to do in each batch.
        batch = 24 if cut.stores == "operators" else max(8, cut.partitions)
        send_growth(options, Growth(batch * restarts * BATCHES_A_RESTART * LATER_BYTES, LATER_BYTES // 100))
        looks = [self._obeyed({"phase": "restart", "batch": batch}) for _ in range(restarts)]
        return restore_of(cut, work, filled, [look["batches"] for look in looks], looks[-1]["loaded"])


def restore_of(
    cut: Cut,
    work: Sequence[Batch],
    filled: Sequence[Batch],
    looks: Sequence[Sequence[Batch]],
    loaded: Mapping[str, int],
) -> Restore:
    firsts = [batches[0][2] for batches in looks]
    laters = [statistics.median(ms for _, _, ms, _ in batches[1:]) for batches in looks]
    beyond = [first - later for first, later in zip(firsts, laters, strict=True)]
    counted = work[_WARM:]
    seconds = sum(ms for _, _, ms, _ in counted) / 1000
    return Restore(
        stores=cut.stores,
        partitions=cut.partitions,
        note=cut.note,
        state_bytes=sum(put for _, put, _, _ in [*work, *filled]),
        restore_s=statistics.median(beyond) / 1000,
        first_s=statistics.median(firsts) / 1000,
        later_s=statistics.median(laters) / 1000,
        load_s=statistics.median(batches[0][3] for batches in looks) / 1000,
        messages_per_s=sum(count for count, _, _, _ in counted) / seconds if seconds else None,
        mb_per_s=sum(put for _, put, _, _ in counted) / 1e6 / seconds if seconds else None,
        loaded=dict(loaded),
    )
