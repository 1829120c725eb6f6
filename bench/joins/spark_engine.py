"""Spark's side of a join: spark_jobs.join_turns in a process that can be killed and started again."""

from __future__ import annotations

import importlib.metadata
import json
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import psutil

from bench.driverbench.errors import TurnFailed
from bench.engine.ordered_spark import OrderedSpark
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.joins.rows import row_count
from bench.joins.streams import JOINED, JOINED_SUBJECT, stream_of
from bench.joins.workload import Lookup, Workload
from bench.resources import PidsMeter
from spark_jobs.join_query import JoinOrder, LookupOrder
from spark_jobs.join_turns import PREFIX

START_WITHIN_S = 180.0
ANSWER_WITHIN_S = 90.0

Change = Callable[[JoinOrder], JoinOrder]


class SparkJoins(OrderedSpark):
    """A context: Spark is started once and plays all joins."""

    def __init__(self, nats: NatsEndpoint, tasks: int, conf: Sequence[str] = ()) -> None:
        super().__init__("joins", nats, PREFIX)
        self.tasks, self._conf = tasks, tuple(conf)
        self._pid = 0
        self._order: JoinOrder | None = None
        self._joins = 0
        self.meter = PidsMeter(self.pids)

    def _command(self) -> list[str]:
        words = ["--orders", str(self._orders), "--progress", str(self.folder / "progress")]
        words += ["--servers", self._nats.url, "--master", f"local[{self.tasks}]"]
        for pair in self._conf:
            words += ["--conf", pair]
        return ["spark_jobs.join_turns", *words]

    def _launch(self) -> int:
        self._pid = super()._launch()
        return self._pid

    def wait_ready(self) -> None:
        if self._joins == 0 and self._answers == 0:
            self._answer(None, START_WITHIN_S)

    # -- a join ------------------------------------------------------------------------

    def start(
        self, workload: Workload, run_id: str, batch_rows: int, trigger_ms: int, change: Change | None = None
    ) -> None:
        """`change` makes another join of the order: one that is wrong on purpose, or another way to do it."""
        self.wait_ready()
        self._joins += 1
        checkpoint = str(self.folder / f"checkpoint-{self._joins}")
        order = join_order(workload, run_id, checkpoint, batch_rows, trigger_ms)
        self._order = order if change is None else change(order)
        self._answer({"start": asdict(self._order)}, ANSWER_WITHIN_S)

    def check(self) -> None:
        """Raises TurnFailed if the join has broken."""
        told = self._next_line()
        if told is not None:
            raise TurnFailed(f"the join broke: {told.get('broke') or told}")
        if not self._leashed.running():
            raise TurnFailed("spark has ended in the middle of a join")

    def stop(self) -> None:
        self._answer({"stop": True}, ANSWER_WITHIN_S)
        self._order = None

    def kill(self) -> None:
        """SIGKILL to the driver, the JVM and the Python workers; returns when all are gone."""
        children = [psutil.Process(pid) for pid in self.pids() if pid != self._pid]
        with suppress(ServiceError):  # it has ended by itself
            self._leashed.signal(signal.SIGKILL)
        for child in children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(children, timeout=10)

    def restart(self) -> None:
        """A new process that goes on with the join from its checkpoint."""
        assert self._order is not None, "no join to go on with"
        self._launch()
        self._answer(None, START_WITHIN_S)
        self._answer({"start": asdict(self._order)}, ANSWER_WITHIN_S)

    # -- looking in ----------------------------------------------------------------------

    def pids(self) -> list[int]:
        try:
            driver = psutil.Process(self._pid)
            return [child.pid for child in driver.children(recursive=True)] + [self._pid]
        except psutil.Error:
            return []

    def memory_bytes(self) -> int | None:
        """Of the driver, the JVM and the Python workers; what they share is counted once."""
        total = 0
        for pid in self.pids():
            with suppress(psutil.Error):  # gone meanwhile
                total += psutil.Process(pid).memory_full_info().pss
        return total or None

    def progress(self, run_id: str) -> list[dict[str, Any]]:
        """Spark's own account of every micro-batch of a join."""
        try:
            lines = (self.folder / "progress").read_text().split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [told for told in map(json.loads, lines) if told["name"] == run_id]

    def settings(self) -> dict[str, Any]:
        version = importlib.metadata.version("pyspark")
        return {"version": version, "master": f"local[{self.tasks}]", "conf": list(self._conf)}


def join_order(
    workload: Workload, run_id: str, checkpoint: str, batch_rows: int, trigger_ms: int
) -> JoinOrder:
    """What Spark is told; each streaming topic gets its share of a micro-batch."""
    live = {topic: row_count(workload, topic) for topic in workload.topics if not _static(workload, topic)}
    share = {topic: rows / sum(live.values()) for topic, rows in live.items()}
    return JoinOrder(
        run_id,
        stream_of(workload.fact),
        JOINED,
        JOINED_SUBJECT,
        checkpoint,
        tuple(_lookup_order(workload, one, share.get(one.topic, 1.0)) for one in workload.lookups),
        batch_rows,
        share[workload.fact],
        trigger_ms,
    )


def _static(workload: Workload, topic: str) -> bool:
    return topic != workload.fact and workload.ttl.of(topic) is None


def _lookup_order(workload: Workload, lookup: Lookup, share: float) -> LookupOrder:
    wait_us = 0 if lookup.kind == "dimension" else workload.reach_us(lookup)[1]
    ttl_us, required = workload.ttl.of(lookup.topic), workload.waits_for(lookup)
    return LookupOrder(stream_of(lookup.topic), ttl_us, wait_us, required, share)
