"""Turns of a restore: a store is filled, its query stopped, and started again on its checkpoint, in one JVM.

Orders (JSON, see spark_jobs/orders.py) come in this sequence: `new` says how the state is cut; `run` works
until so many messages are done and so many TaskRuns grown, which must be all that the stream holds; `restart`
starts the query again and looks at its first batches. The batches after a restart are small and alike, so
that what the first took beyond the others is the restore.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.failure import ended, one_line
from spark_jobs.orders import asked
from spark_jobs.session import build_session
from spark_jobs.statestore.names import Stores
from spark_jobs.statestore.progress import state_line
from spark_jobs.statestore.query import Shape, conf_of, outputs, read_messages
from spark_jobs.throughput import PREFIX

_POLL_S = 0.05
_PATIENCE_S = 400.0
#: Batches looked at after a restart; the first has loaded the stores.
_LOOKED_AT = 4
#: No timer falls due in here.
_TIMEOUT_MS = 3_600_000

Line = dict[str, Any]


@dataclass(frozen=True)
class RestoreOrder:
    phase: Literal["new", "run", "restart"]
    stores: Stores = "one"
    partitions: int = 1
    conf: Mapping[str, str] = field(default_factory=dict)
    #: Since `new`, in all.
    messages: int = 0
    grown: int = 0
    #: Messages of a batch.
    batch: int = 1


@dataclass
class RestoreTold:
    error: str = ""
    #: Of each batch: messages, bytes put, time of the whole batch, Spark's load time summed over its stores.
    batches: list[tuple[int, int, int, int]] = field(default_factory=list)
    #: Of a restart: how its stores were loaded.
    loaded: dict[str, int] = field(default_factory=dict)


class _Looker:
    """For foreachBatch: counts, and forgets the rest."""

    def __init__(self) -> None:
        self.totals: dict[str, dict[str, int]] = {}
        self.batches: dict[int, tuple[int, int]] = {}

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        stats = [json.loads(row.body) for row in rows.where("kind = 'stats'").collect()]
        for one in stats:
            self.totals[one["slot"]] = one["totals"]
        counted = [(one["messages"], one["bytes_put"]) for one in stats]
        self.batches[batch_id] = (sum(one[0] for one in counted), sum(one[1] for one in counted))

    def total(self, name: str) -> int:
        return sum(part[name] for part in self.totals.values())

    def busy(self) -> int:
        return sum(messages > 0 for messages, _ in self.batches.values())


class Turn:
    """One way to cut the state, from its first message on."""

    def __init__(self, spark: SparkSession, cut: RestoreOrder, servers: str) -> None:
        self._spark, self._cut, self._servers = spark, cut, servers
        self._checkpoint = tempfile.mkdtemp(prefix="jetlag-restore-")
        self._looker = _Looker()

    def run(self, order: RestoreOrder) -> RestoreTold:
        looker = self._looker

        def enough() -> bool:
            return looker.total("messages") >= order.messages and looker.total("grown") >= order.grown

        return RestoreTold(batches=self._batches(self._until(order.batch, enough)))

    def restart(self, order: RestoreOrder) -> RestoreTold:
        before = self._looker.busy()
        lines = self._until(order.batch, lambda: self._looker.busy() >= before + _LOOKED_AT)
        loaded = {name: value for name, value in lines[0]["state"].items() if _says_how(name)}
        # The first has loaded the stores, also if it had no message: one that was cut off is run again.
        return RestoreTold(batches=[self._batch(lines[0]), *self._batches(lines[1:])], loaded=loaded)

    def close(self) -> None:
        shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _until(self, batch: int, enough: Callable[[], bool]) -> list[Line]:
        """Run until there is enough; Spark's account of the batches."""
        query = self._start(batch)
        deadline = time.monotonic() + _PATIENCE_S
        _wait(query, enough, deadline)
        last = max(self._looker.batches)
        # The batch that was enough must be committed, or it would be run again after the restart. Then at
        # once: with no pause between batches, to wait for one would be to run many more.
        _wait(query, lambda: any(one.batchId >= last for one in query.recentProgress), deadline)
        query.stop()
        return [state_line(json.loads(report.json)) for report in query.recentProgress]

    def _start(self, batch: int) -> StreamingQuery:
        shape = Shape(self._cut.stores, self._cut.partitions, _TIMEOUT_MS, batch)
        for name, value in conf_of(shape, self._cut.conf).items():
            if name.startswith("spark.sql."):
                self._spark.conf.set(name, value)
        rows = outputs(self._spark, read_messages(self._spark, self._servers, shape), shape)
        writer = rows.writeStream.foreachBatch(self._looker).outputMode("append")
        writer = writer.option("checkpointLocation", self._checkpoint)
        return writer.trigger(processingTime="0 seconds").start()

    def _batches(self, lines: list[Line]) -> list[tuple[int, int, int, int]]:
        """Those with messages; a batch that was cut off when the query was stopped is not among them."""
        return [batch for batch in map(self._batch, lines) if batch[0]]

    def _batch(self, line: Line) -> tuple[int, int, int, int]:
        messages, put = self._looker.batches.get(line["batch_id"], (0, 0))
        return messages, put, int(line["trigger_ms"]), int(line["state"].get("rocksdbLoadLatencyMs", 0))


def _wait(query: StreamingQuery, condition: Callable[[], bool], deadline: float) -> None:
    while not condition():
        if not query.isActive:
            failure = query.exception()
            raise failure if failure is not None else RuntimeError("the query has ended")
        if time.monotonic() > deadline:
            query.stop()
            raise TimeoutError(f"not done within {_PATIENCE_S:g} s")
        time.sleep(_POLL_S)


def _says_how(name: str) -> bool:
    return any(word in name for word in ("Load", "Replay", "SstFileSize"))


class Turns:
    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark, self._servers = spark, servers
        self._turn: Turn | None = None

    def obey(self, order: RestoreOrder) -> RestoreTold:
        if order.phase == "new":
            self.close()
            self._turn = Turn(self._spark, order, self._servers)
            return RestoreTold()
        if self._turn is None:
            raise ValueError(f"order {order.phase} before an order new")
        return self._turn.run(order) if order.phase == "run" else self._turn.restart(order)

    def close(self) -> None:
        if self._turn is not None:
            self._turn.close()


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="restore_turns", allow_abbrev=False)
    add = parser.add_argument
    add("--orders", required=True, type=Path)
    add("--servers", required=True)
    add("--master", default="local[*]")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> None:
    spark = build_session("restore_turns", options.master, conf_of(Shape(), {}))
    turns = Turns(spark, options.servers)
    try:
        for order in asked(options.orders):
            try:
                told = turns.obey(RestoreOrder(**order))
            except Exception as error:
                told = RestoreTold(error=one_line(error))
            print(PREFIX + json.dumps(asdict(told)), flush=True)
    finally:
        turns.close()
        spark.stop()


def main(argv: list[str]) -> int:
    options = _parse(argv)
    return ended("restore_turns", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
