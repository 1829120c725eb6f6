"""`format("jetstream")`: the data source that Spark knows, its stream reader and its batch reader."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark_jobs.jetstream.admission import Admission
from spark_jobs.jetstream.ahead import Guesses, ReadAhead
from spark_jobs.jetstream.chunk import Chunk
from spark_jobs.jetstream.columns import BINARY_SCHEMA, NOT_IN_DIRECT_GETS, RowShape
from spark_jobs.jetstream.direct import events_a_request
from spark_jobs.jetstream.durable import Durable
from spark_jobs.jetstream.errors import DataLossError, JetStreamError
from spark_jobs.jetstream.fetch import loss_message, read_range
from spark_jobs.jetstream.link import with_link
from spark_jobs.jetstream.options import SourceOptions, parse_sink, parse_source
from spark_jobs.jetstream.sink import JetStreamWriter
from spark_jobs.jetstream.stream import StreamState, read_state, resolve_start
from spark_jobs.jetstream.ticks import Offset, Pace, Ticks, split
from spark_jobs.jetstream.timings import Stopwatch, stopwatch

#: Below this a second task costs more than it saves.
_LEAST_ROWS = 500
#: This worker's.
_guesses = Guesses()
#: The second one finds all that is imported on the way through the first.
_UNSETTLED_TASKS = 2
_tasks_begun = itertools.count()


def _settle() -> None:
    """Spark's daemon collects garbage after every task, and would look through all that was imported each
    time: a twelfth of the workers' time, and 5 ms in which nothing is read ahead.
    """
    if next(_tasks_begun) < _UNSETTLED_TASKS:
        gc.collect()
        gc.freeze()


class JetStreamSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "jetstream"

    def schema(self) -> StructType:
        if parse_source(self.options).format == "json":
            raise ValueError("format=json needs a schema: spark.readStream.format('jetstream').schema(…)")
        return BINARY_SCHEMA

    def reader(self, schema: StructType) -> JetStreamBatchReader:
        return JetStreamBatchReader(schema, parse_source(self.options))

    def streamReader(self, schema: StructType) -> JetStreamReader:  # noqa: N802 - Spark's name
        return JetStreamReader(schema, parse_source(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> JetStreamWriter:  # noqa: ARG002, N802
        return JetStreamWriter(schema, parse_sink(self.options))


@dataclass
class SeqRange(InputPartition):
    """[first, end), rows stamped not before floor_ms; then a tick row if tick_ms is not 0."""

    first: int
    end: int
    floor_ms: int = 0
    tick_ms: int = 0
    #: Events a direct get asks for; 0 is to read by a consumer.
    direct: int = 0
    #: How many events the worker may hold that no task has asked for yet, and up to where there are any.
    most_held: int = 0
    ahead_to: int = 0


class _RangeReader:
    """What a task does; shared by stream and batch. It travels to the executors, so it holds no
    connection.
    """

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._options = options
        self._schema = schema
        RowShape(schema, options)  # a column that cannot be had fails here, on the driver

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, SeqRange):
            return  # Spark's stand-in for "no partitions": the stream is empty
        _settle()
        shape = RowShape(self._schema, self._options)
        watch = stopwatch(self._options.timings) if self._options.timings else None
        rows = self._rows(partition, partial(shape.rows, floor_ms=partition.floor_ms), watch)
        yield from watch.task(rows) if watch else rows
        shape.tell_bad_rows()
        if partition.tick_ms:
            yield shape.tick_row(partition.tick_ms)

    def _rows(
        self, partition: SeqRange, to_rows: Callable[[Chunk], pa.RecordBatch], watch: Stopwatch | None
    ) -> Generator[pa.RecordBatch]:
        begin = partition.first
        ahead = self._ahead(partition, watch) if partition.most_held else None
        if ahead is not None:
            yield from ahead.rows(partition.end, partition.ahead_to)
            begin = ahead.position
        take = watch.taking(to_rows) if watch else to_rows
        yield from read_range(self._options, begin, partition.end, partition.direct, take)

    def _ahead(self, partition: SeqRange, watch: Stopwatch | None) -> ReadAhead | None:
        """What this worker has read for the task already, or will while it runs and after it."""
        options = self._options

        def start() -> ReadAhead:
            strict = partial(RowShape(self._schema, replace(options, mode="FAILFAST")).rows, floor_ms=0)
            take = watch.taking(strict) if watch else strict
            return ReadAhead(options, partition.first, partition.direct, partition.most_held, take)

        worth_it = partition.ahead_to - partition.end >= partition.direct
        query = (options, self._schema.json())
        return _guesses.at(query, partition.first, start if worth_it else None)

    def _direct(self, state: StreamState) -> int:
        """Direct gets bring no subject, header or time: who wants one of those reads by a consumer."""
        options = self._options
        if not options.direct_get or options.subjects or NOT_IN_DIRECT_GETS.intersection(self._schema.names):
            return 0
        return events_a_request(state, options.fetch_batch)

    def _state(self) -> StreamState:
        return with_link(self._options, lambda link: read_state(link, self._options.stream))

    def _check_held(self, first: int, end: int, state: StreamState) -> None:
        """Fail before tasks start if the range's beginning is gone: a message from the driver is easier
        to find.
        """
        if self._options.fail_on_data_loss and first < min(state.first_seq, end):
            gone = min(state.first_seq, end) - first
            raise DataLossError(loss_message(self._options.stream, first, end, gone))
        if self._options.fail_on_data_loss and first > state.next_seq:
            raise DataLossError(
                f"data loss: Spark has read {self._options.stream} up to sequence {first - 1}, but it "
                f"ends at {state.next_seq - 1}: it was made anew; start with a new checkpoint, or set "
                "failOnDataLoss=false"
            )


class JetStreamReader(_RangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        super().__init__(schema, options)
        self._ticks = Ticks(options.tick_ms, options.tick_grace_ms, options.tick_lead_ms)
        self._pace = Pace()
        self._admission = Admission(options.min_offsets_per_trigger, options.max_trigger_delay_ms / 1000)
        self._target_seq: int | None = None
        self._durable = (
            Durable(options.stream, options.durable, options.subjects) if options.durable else None
        )
        self._head: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        options = self._options
        seq = with_link(options, lambda link: resolve_start(link, options.stream, options.start))
        return Offset(seq).as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target_seq = self._state().next_seq

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        self._pace.asked(time.monotonic())
        begin = Offset.from_dict(start)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if self._target_seq is not None:
            # Everything there was when the query started, and no tick: AvailableNow must come to an end.
            state = self._state()
            target = StreamState(state.first_seq, min(state.next_seq, self._target_seq), state.now_ms)
            end = Ticks().next_offset(begin, target, rows)
        else:
            state = self._settled_state(begin)
            end = self._pace.following(self._ticks).next_offset(begin, state, rows)
            if self._admission.holds(begin, end, time.monotonic()):
                end = begin
        self._check_held(begin.seq, max(end.seq, begin.seq + 1), state)
        if not self._options.fail_on_data_loss and begin.seq > state.next_seq:
            end = Offset(state.first_seq, end.tick_ms, end.floor_ms)
        self._head = Offset(max(state.next_seq, end.seq), end.tick_ms, end.floor_ms)
        if end != begin:
            self._pace.planned(time.monotonic())
            self._admission.admitted(time.monotonic())
        return end.as_dict()

    def _settled_state(self, begin: Offset) -> StreamState:
        """The stream's state, not asked for before the window that `begin` closes is over."""
        state = self._state()
        while (wait_ms := self._ticks.wait_ms(begin, state.now_ms)) > 0:
            time.sleep(wait_ms / 1000)
            state = self._state()
        return state

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return self._head.as_dict() if self._head else None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, last = Offset.from_dict(start), Offset.from_dict(end)
        begin, direct = first.seq, 0
        if last.seq > begin:
            state = self._state()
            self._check_held(begin, last.seq, state)
            begin = min(max(begin, state.first_seq), last.seq)
            direct = self._direct(state)
        ranges = split(begin, last.seq, self._options.min_partitions, _LEAST_ROWS)
        parts = [SeqRange(low, high, first.floor_ms, direct=direct) for low, high in ranges]
        if len(parts) == 1 and direct:  # of several, Spark's workers would not get the same ones again
            most_held = self._options.read_ahead_bytes // max(1, state.mean_bytes)
            parts[0].most_held = most_held if most_held >= direct else 0
            parts[0].ahead_to = min(state.next_seq, self._target_seq or state.next_seq)
        if last.tick_ms > first.tick_ms:
            parts = parts or [SeqRange(begin, begin, first.floor_ms)]
            parts[-1].tick_ms = last.tick_ms
        return parts

    def commit(self, end: dict[str, Any]) -> None:
        durable = self._durable
        if durable is None:
            return
        try:
            with_link(self._options, lambda link: durable.move(link, Offset.from_dict(end).seq))
        except JetStreamError as error:
            raise JetStreamError(
                f"durable {self._options.durable} cannot be moved: {error}", error.err_code
            ) from None


class JetStreamBatchReader(_RangeReader, DataSourceReader):
    """`spark.read`: from startingOffset to what is there when the query is planned."""

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        first = with_link(options, lambda link: resolve_start(link, options.stream, options.start))
        state = self._state()
        self._check_held(first, max(state.next_seq, first), state)
        direct = self._direct(state)
        return [
            SeqRange(low, high, direct=direct)
            for low, high in split(first, state.next_seq, options.min_partitions, _LEAST_ROWS)
        ]
