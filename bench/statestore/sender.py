"""Sends a launch: as fast as JetStream takes it, or by a schedule whose times the messages carry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import pyarrow as pa

from bench.statestore.load import Growth, Launch, message
from spark_jobs.jetstream.options import SinkOptions
from spark_jobs.jetstream.sink import publish_rows
from spark_jobs.statestore.messages import Message, encode
from spark_jobs.statestore.names import BUCKETS, EVENTS_SUBJECT

_CHUNK = 2_000
_CHUNK_BYTES = 8 << 20
#: Each is a megabyte, or as much as its TaskRuns are.
_GROW_AT_ONCE = 50
#: With a rate: how much of it is sent at once.
_STEP_S = 0.05

Show = Callable[[int, int], None]
#: Bucket, id and the message.
Row = tuple[int, str, Message]


def send_launch(
    options: SinkOptions, launch: Launch, rate_per_s: float | None = None, show: Show | None = None
) -> int:
    """How many messages were stored, each once and acknowledged; `show` gets how many so far, and of all."""
    total = launch.truth.messages
    order = iter(launch.order())
    limit = max(1, min(_CHUNK, _CHUNK_BYTES // (launch.size + 200)))
    if rate_per_s is not None:
        limit = max(1, min(limit, round(rate_per_s * _STEP_S)))
    begun_s, begun_ms = time.monotonic(), time.time_ns() // 1_000_000
    done = 0
    while part := list(islice(order, limit)):
        sent_ms = time.time_ns() // 1_000_000
        if rate_per_s is not None:
            due_s = done / rate_per_s
            time.sleep(max(0.0, begun_s + due_s - time.monotonic()))
            sent_ms = begun_ms + int(due_s * 1_000)
        publish(options, _rows(launch, part, sent_ms))
        done += len(part)
        if show is not None:
            show(done, total)
    return done


def send_growth(options: SinkOptions, growth: Growth, wait: Callable[[int], None] | None = None) -> int:
    """`wait` is called now and then, and returns when so many TaskRuns are in the store: otherwise the engine
    could take gigabytes in one micro-batch.
    """
    sent_ms = time.time_ns() // 1_000_000
    rows = ((number, f"{one.workflow}|grow", one) for number, one in growth.messages(sent_ms))
    done = 0
    while part := list(islice(rows, _GROW_AT_ONCE)):
        done += publish(options, part)
        if wait is not None:
            wait(done * growth.tasks)
    return done


def publish(options: SinkOptions, rows: Iterable[Row]) -> int:
    buckets, ids, messages = zip(*rows, strict=True)
    subjects = [f"{EVENTS_SUBJECT}.{bucket % BUCKETS}" for bucket in buckets]
    columns = (
        pa.array(subjects).cast(pa.binary()),
        pa.array(ids).cast(pa.binary()),
        pa.array([encode(one) for one in messages], pa.binary()),
    )
    return publish_rows(options, [columns]).rows


def _rows(launch: Launch, part: list[tuple[str, int, int]], sent_ms: int) -> Iterator[Row]:
    for kind, number, task in part:
        one = message(launch, (kind, number, task), sent_ms)
        yield number, f"{one.workflow}|{kind}|{task}", one
