"""Turns of the suite `joins`, played in one Spark session as they are ordered.

`python -m spark_jobs.join_turns --orders FILE --progress FILE` follows FILE: {"start": …} starts a join,
{"stop": true} ends it, {"end": true} ends the job. Each order is answered by one line on stdout; a join that
breaks is told by a line too. Every micro-batch's progress is appended as Spark tells it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.failure import ended, one_line
from spark_jobs.join_query import JoinOrder, stored
from spark_jobs.orders import asked
from spark_jobs.progress import ProgressFile
from spark_jobs.session import build_session

PREFIX = "JOIN "


def _as_told(progress: dict[str, Any]) -> dict[str, Any]:
    return {"at_ns": time.time_ns(), **progress}


class Turns:
    """At most one join at a time."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark = spark
        self._access = {"servers": servers}
        if os.environ.get("JETLAG_NATS_USER"):
            self._access |= {
                "user": os.environ["JETLAG_NATS_USER"],
                "password": os.environ.get("JETLAG_NATS_PASSWORD", ""),
            }
        self._query: StreamingQuery | None = None

    def follow(self, order: dict[str, Any]) -> None:
        try:
            if "start" in order:
                self._start(JoinOrder.from_dict(order["start"]))
                _tell({"started": True})
            else:
                self._stop()
                _tell({"stopped": True})
        except Exception as error:
            _tell({"error": one_line(error)})

    def watch(self) -> None:
        """A join that has broken is told once, at once."""
        query = self._query
        if query is not None and not query.isActive:
            self._query = None
            failure = query.exception()
            _tell({"broke": one_line(failure) if failure else "the join ended by itself"})

    def _start(self, order: JoinOrder) -> None:
        rows = stored(self._spark, order, self._access)
        writer = rows.writeStream.format("noop").outputMode("append").queryName(order.run_id)
        writer = writer.option("checkpointLocation", order.checkpoint)
        self._query = writer.trigger(processingTime=f"{order.trigger_ms} milliseconds").start()

    def _stop(self) -> None:
        query, self._query = self._query, None
        if query is not None:
            query.stop()
        self._spark.catalog.clearCache()  # the dimensions of this join


def _tell(line: dict[str, Any]) -> None:
    print(PREFIX + json.dumps(line), flush=True)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="join_turns", allow_abbrev=False)
    add = parser.add_argument
    add("--orders", required=True, type=Path, help="a file to which orders are appended")
    add("--progress", required=True, type=Path, help="a file to which every micro-batch is appended")
    add("--servers", required=True)
    add("--master", default="local[*]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> None:
    conf = dict(pair.split("=", 1) for pair in options.conf)
    spark = build_session("join_turns", options.master, conf)
    spark.streams.addListener(ProgressFile(options.progress, _as_told))
    turns = Turns(spark, options.servers)
    _tell({"ready": True})
    try:
        for order in asked(options.orders, turns.watch):
            turns.follow(order)
    finally:
        spark.stop()


def main(argv: list[str]) -> int:
    options = _parse(argv)
    return ended("join_turns", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
