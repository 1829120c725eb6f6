"""Turns of a restore: a store is filled, its query stopped, and started again on its checkpoint, in one JVM.

Each order (JSON, see spark_jobs/orders.py) says how the state is cut and how large it is. The stream holds
workflows first and then state to grow; what comes after the restart is a few messages a batch, so that the
first batch after it, which loads the stores, is as small as those that follow.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class RestoreOrder:
    stores: Stores
    partitions: int
    #: Messages of workflows at the stream's beginning, and TaskRuns to grow the state by after them.
    messages: int
    grown: int
    #: Of a batch: while workflows run, while the state grows, and after a restart.
    batch_messages: int
    batch_growth: int
    batch_after: int
    restarts: int
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass
class RestoreTold:
    error: str = ""
    #: Of the batches with workflows: messages, bytes put, time of the whole batch.
    work: list[tuple[int, int, int]] = field(default_factory=list)
    put_bytes: int = 0
    #: By restart, by batch: time of the whole batch, and Spark's load time summed over its stores.
    restarts: list[list[tuple[int, int]]] = field(default_factory=list)
    #: Of the last restart: how it was loaded.
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


class _Turn:
    def __init__(self, spark: SparkSession, order: RestoreOrder, servers: str, checkpoint: str) -> None:
        self._spark, self._order, self._servers, self._checkpoint = spark, order, servers, checkpoint
        self.looker = _Looker()

    def start(self, batch: int) -> StreamingQuery:
        shape = Shape(self._order.stores, self._order.partitions, 3_600_000, batch)
        for name, value in conf_of(shape, self._order.conf).items():
            if name.startswith("spark.sql."):
                self._spark.conf.set(name, value)
        rows = outputs(self._spark, read_messages(self._spark, self._servers, shape), shape)
        writer = rows.writeStream.foreachBatch(self.looker).outputMode("append")
        return (
            writer.option("checkpointLocation", self._checkpoint).trigger(processingTime="0 seconds").start()
        )

    def until(self, query: StreamingQuery, enough: Any, what: str) -> list[dict[str, Any]]:
        """Run until there is enough, and stop between two batches; Spark's account of the batches."""
        deadline = time.monotonic() + _PATIENCE_S
        while not enough():
            if not query.isActive:
                failure = query.exception()
                raise failure if failure is not None else RuntimeError("the query has ended")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} took longer than {_PATIENCE_S:g} s")
            time.sleep(_POLL_S)
        while query.status["isTriggerActive"] and query.isActive and time.monotonic() < deadline:
            time.sleep(_POLL_S / 10)
        query.stop()
        return [state_line(json.loads(report.json)) for report in query.recentProgress]


def play(spark: SparkSession, order: RestoreOrder, servers: str) -> RestoreTold:
    told = RestoreTold()
    with tempfile.TemporaryDirectory(prefix="jetlag-restore-") as checkpoint:
        turn = _Turn(spark, order, servers, checkpoint)
        looker = turn.looker
        if order.messages:
            query = turn.start(order.batch_messages)
            lines = turn.until(query, lambda: looker.total("messages") >= order.messages, "the work")
            told.work = [
                (*looker.batches[line["batch_id"]], line["trigger_ms"])
                for line in lines
                if line["batch_id"] in looker.batches
            ]
        if looker.total("grown") < order.grown:
            turn.until(
                turn.start(order.batch_growth), lambda: looker.total("grown") >= order.grown, "the growth"
            )
        told.put_bytes = sum(put for _, put in looker.batches.values())
        for _ in range(order.restarts):
            before = len(looker.batches)
            query = turn.start(order.batch_after)
            lines = turn.until(
                query, lambda before=before: len(looker.batches) >= before + _LOOKED_AT, "the restart"
            )
            told.restarts.append([(line["trigger_ms"], load_ms(line)) for line in lines])
            told.loaded = {
                name: value
                for name, value in lines[0]["state"].items()
                if "Load" in name or "Replay" in name or "SstFileSize" in name
            }
    return told


def load_ms(line: dict[str, Any]) -> int:
    return int(line["state"].get("rocksdbLoadLatencyMs", 0))


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="restore_turns", allow_abbrev=False)
    add = parser.add_argument
    add("--orders", required=True, type=Path)
    add("--servers", required=True)
    add("--master", default="local[*]")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> None:
    spark = build_session("restore_turns", options.master, conf_of(Shape(), {}))
    try:
        for order in asked(options.orders):
            try:
                told = play(spark, RestoreOrder(**order), options.servers)
            except Exception as error:
                told = RestoreTold(error=one_line(error))
            print(PREFIX + json.dumps(asdict(told)), flush=True)
    finally:
        spark.stop()


def main(argv: list[str]) -> int:
    options = _parse(argv)
    return ended("restore_turns", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
