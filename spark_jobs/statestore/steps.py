"""What the engine does with its messages and its timers; no Spark in here.

Every step reads its workflow from the store and writes it back, and reads or writes its TaskRun. Steps of
different workflows do not see each other, so that a round of them, at most one a workflow, reads together and
then writes together. The metrics window is read and written once a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spark_jobs.statestore.keys import (
    TOTALS,
    due_ms_of,
    metrics_key,
    task_run_key,
    timer_key,
    workflow_key,
)
from spark_jobs.statestore.latencies import bucket_of
from spark_jobs.statestore.messages import Message, task_print
from spark_jobs.statestore.payloads import payload
from spark_jobs.statestore.store import Store
from spark_jobs.statestore.values import (
    STARTED,
    MetricsWindow,
    Timer,
    Totals,
    Workflow,
    completed_value,
    decode_totals,
    decode_window,
    encode,
    failed_value,
    started_value,
    window_start_ms,
    workflow_of,
    workflow_value,
)

ROUND = 256
#: How many timers a scan takes in one go before it looks at their tasks.
SCAN = 256

Numbered = tuple[int, Message]


class OutOfOrderError(Exception):
    """The store does not give its timers in time order: see keys.py."""


@dataclass(frozen=True)
class Output:
    """`number` counts the outputs of a partition: the same after a replay, another for a second event."""

    kind: str
    number: int
    of: str


@dataclass
class Done:
    """What a batch has done, for those who look on."""

    outputs: list[Output] = field(default_factory=list)
    windows: dict[int, MetricsWindow] = field(default_factory=dict)
    start_ms: dict[int, int] = field(default_factory=dict)
    complete_ms: dict[int, int] = field(default_factory=dict)


class Steps:
    """One batch of one partition: `messages`, then perhaps `fire`, then `close`."""

    def __init__(
        self, store: Store, batch_ms: int, timeout_ms: int, now_ms: Callable[[], int] | None = None
    ) -> None:
        """`batch_ms` is the batch's own time, the same in a replay: timers and windows go by it."""
        self._store = store
        self._batch_ms = batch_ms
        self._timeout_ms = timeout_ms
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        (kept,) = store.get_many([TOTALS])
        self.totals = Totals() if kept is None else decode_totals(kept)
        self.done = Done()
        #: The earliest timer that was set or seen and has not fired.
        self.next_due_ms: int | None = None

    def messages(self, numbered: Sequence[Numbered]) -> None:
        for part in rounds(numbered):
            self._round(part)

    def fire(self) -> None:
        """What is due: found in time order, deleted on the way, and tasks outside the range marked failed."""
        due: list[str] = []
        before = ""
        for key in self._store.first_keys():
            due_ms = due_ms_of(key)
            if due_ms is None:
                break
            if key <= before:
                raise OutOfOrderError(f"timer {key} came after {before}: the store's order has changed")
            before = key
            if due_ms > self._batch_ms:
                self._expect(due_ms)
                break
            due.append(key)
            if len(due) >= SCAN:
                self._fire(due)
                due = []
        self._fire(due)

    def close(self) -> Done:
        self._store.put(TOTALS, encode(self.totals))
        self._store.flush()
        return self.done

    # -- messages ------------------------------------------------------------------

    def _round(self, part: Sequence[Numbered]) -> None:
        store, totals = self._store, self.totals
        window_ms = window_start_ms(self._batch_ms)
        keys = [metrics_key(window_ms)]
        for _, message in part:
            keys.append(workflow_key(message.workflow))
            if message.kind == "task-complete":
                keys.append(task_run_key(message.workflow, message.task))
        found = iter(store.get_many(keys))
        kept = next(found)
        window = MetricsWindow(window_ms) if kept is None else decode_window(kept)
        now_ms = self._now_ms()
        for seq, message in part:
            value = next(found)
            workflow = None if value is None else workflow_of(value)
            match message.kind:
                case "workflow":
                    self._begin(message, workflow)
                case "task-start":
                    self._start(seq, message, workflow, window, now_ms)
                case "task-complete":
                    self._complete(message, workflow, next(found), window, now_ms)
                case "grow":
                    self._grow(message)
        window.messages_processed += len(part)
        totals.messages += sum(message.kind != "grow" for _, message in part)
        store.put(metrics_key(window_ms), encode(window))
        self.done.windows[window_ms] = window

    def _begin(self, message: Message, workflow: Workflow | None) -> None:
        if workflow is not None:
            self.totals.stray += 1
            return
        self._store.put(
            workflow_key(message.workflow), workflow_value(Workflow(message.tasks, message.sent_ms))
        )
        self.totals.workflows += 1

    def _start(
        self, seq: int, message: Message, workflow: Workflow | None, window: MetricsWindow, now_ms: int
    ) -> None:
        if workflow is None:
            self.totals.stray += 1
            return
        store, totals = self._store, self.totals
        workflow.started += 1
        workflow.last_step_ms = now_ms
        store.put(workflow_key(message.workflow), workflow_value(workflow))
        store.put(task_run_key(message.workflow, message.task), started_value(now_ms))
        due_ms = self._batch_ms + self._timeout_ms
        store.put(timer_key(due_ms, seq), Timer(message.workflow, message.task).value())
        self._expect(due_ms)
        totals.starts += 1
        totals.timers_set += 1
        totals.set_print += task_print(message.workflow, message.task)
        latency_ms = max(0, now_ms - message.sent_ms)
        window.started(latency_ms)
        _count(self.done.start_ms, latency_ms)

    def _complete(
        self,
        message: Message,
        workflow: Workflow | None,
        task_run: bytes | None,
        window: MetricsWindow,
        now_ms: int,
    ) -> None:
        if workflow is None or task_run is None:
            self.totals.stray += 1
            return
        if task_run[:1] != STARTED:
            self.totals.late += 1
            return
        self._store.put(task_run_key(message.workflow, message.task), completed_value(message.payload))
        workflow.completed += 1
        self._step_over(message.workflow, workflow, now_ms)
        self.totals.completes += 1
        latency_ms = max(0, now_ms - message.sent_ms)
        window.completed(latency_ms)
        _count(self.done.complete_ms, latency_ms)

    def _grow(self, message: Message) -> None:
        """A workflow of long ago: ended, with all its TaskRuns."""
        number = int(message.workflow.rpartition("-")[2])
        for task in range(message.tasks):
            body = payload(message.size, number, task)
            self._store.put(task_run_key(message.workflow, task), completed_value(body))
        old = Workflow(message.tasks, message.sent_ms, message.tasks, message.tasks)
        self._store.put(workflow_key(message.workflow), workflow_value(old))
        self.totals.grown += message.tasks

    # -- timers --------------------------------------------------------------------

    def _fire(self, due: Sequence[str]) -> None:
        if not due:
            return
        store, totals = self._store, self.totals
        timers = [Timer.of(value) for value in store.get_many(due) if value is not None]
        runs = store.get_many([task_run_key(timer.workflow, timer.task) for timer in timers])
        for key in due:
            store.remove(key)
        late = [timer for timer, run in zip(timers, runs, strict=True) if (run or b"")[:1] == STARTED]
        totals.timers_fired += len(timers)
        totals.fired_print += sum(task_print(timer.workflow, timer.task) for timer in timers)
        names = list(dict.fromkeys(timer.workflow for timer in late))
        values = store.get_many([workflow_key(name) for name in names])
        workflows = {
            name: workflow_of(value) for name, value in zip(names, values, strict=True) if value is not None
        }
        for timer in late:
            workflow = workflows[timer.workflow]
            store.put(task_run_key(timer.workflow, timer.task), failed_value(self._batch_ms))
            workflow.failed += 1
            totals.timed_out += 1
            self._tell("timed-out", f"{timer.workflow}/{timer.task}")
            self._step_over(timer.workflow, workflow, self._batch_ms)

    # -- both ----------------------------------------------------------------------

    def _step_over(self, name: str, workflow: Workflow, now_ms: int) -> None:
        """A task has ended, well or not."""
        workflow.last_step_ms = now_ms
        self._store.put(workflow_key(name), workflow_value(workflow))
        if workflow.over:
            self.totals.ended += 1
            self._tell("ended", name)

    def _tell(self, kind: str, of: str) -> None:
        self.totals.outputs += 1
        self.done.outputs.append(Output(kind, self.totals.outputs, of))

    def _expect(self, due_ms: int) -> None:
        if self.next_due_ms is None or due_ms < self.next_due_ms:
            self.next_due_ms = due_ms


def rounds(numbered: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    """Cut where a workflow comes again, so that a step sees what the step before it wrote."""
    cuts, seen = [0], set[str]()
    for index, (_, message) in enumerate(numbered):
        if message.workflow in seen or len(seen) >= ROUND:
            cuts.append(index)
            seen.clear()
        seen.add(message.workflow)
    for low, high in pairwise([*cuts, len(numbered)]):
        if high > low:
            yield numbered[low:high]


def _count(buckets: dict[int, int], latency_ms: int) -> None:
    bucket = bucket_of(latency_ms)
    buckets[bucket] = buckets.get(bucket, 0) + 1
