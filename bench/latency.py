"""Latency histograms in microseconds: cheap to record into, standard to read.

Goals: a recording thread pays a few nanoseconds a value; every number in a report can be recomputed from the
HdrHistogram log of the run with any HdrHistogram tool. Non-goals: exact percentiles (three significant
digits are enough to gate on), and values beyond an hour.
"""

from __future__ import annotations

import re
import sys
import threading
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

Int64s = npt.NDArray[np.int64]

# Values wait here and are counted this many at a time: numpy's fixed cost of ~10 calls (some 10 µs) is then
# paid once per 8192 values instead of once per fetched batch. 64 KiB stays in the L2 cache and below
# malloc's mmap threshold; a full buffer is folded in ~40 µs, the longest a record() call can take for a
# small array.
BUFFERED_VALUES = 8192

# A double holds every integer below this exactly; _Tally.fold reads the bucket out of a double's bits.
EXACT_IN_DOUBLE = 2**53


class _Tally:
    """Values waiting to be counted, and the counts of a histogram laid out as HdrHistogram lays them out."""

    def __init__(self, shape: HdrHistogram, buffered: int) -> None:
        self.counts: Int64s = np.zeros(shape.counts_len, np.int64)
        self._buffer: Int64s = np.empty(buffered, np.int64)
        self._highest = int(shape.highest_trackable_value)
        self._unit_magnitude = int(shape.unit_magnitude)
        half_magnitude = int(shape.sub_bucket_half_count_magnitude)
        self._half_count = 1 << half_magnitude
        self._mantissa_shift = 52 - half_magnitude
        self._index_offset = (1023 + half_magnitude - 1) << half_magnitude
        self.clear()

    def clear(self) -> None:
        self.counts.fill(0)
        self._fill = 0
        self.negative = self.clamped = 0
        self.lowest_seen, self.highest_seen = sys.maxsize, 0  # HdrHistogram's own marks of "nothing yet"

    def add(self, values: Int64s) -> None:
        end = self._fill + values.size
        if end <= self._buffer.size:
            self._buffer[self._fill : end] = values
            self._fill = end
            return
        for start in range(0, values.size, self._buffer.size):
            self.fold()
            chunk = values[start : start + self._buffer.size]
            self._buffer[: chunk.size] = chunk
            self._fill = chunk.size

    def fold(self) -> None:
        """Count the waiting values.

        HdrHistogram's index of a value is (its power of two, its next `half_magnitude` bits): exactly the top
        bits of the same value as a double, so a shift and a subtraction replace a loop over bit lengths.
        Below `half_count` the index is the value itself, where the formula would be too low: hence the
        maximum.
        """
        if not self._fill:
            return
        values = self._buffer[: self._fill]
        self._fill = 0
        low, high = int(values[values.argmin()]), int(values[values.argmax()])
        if low < 0 or high > self._highest:
            self.negative += int(np.count_nonzero(values < 0))
            self.clamped += int(np.count_nonzero(values > self._highest))
            np.clip(values, 0, self._highest, out=values)
            low, high = max(0, min(low, self._highest)), max(0, min(high, self._highest))
        self.lowest_seen = min(self.lowest_seen, low)
        self.highest_seen = max(self.highest_seen, high)
        if self._unit_magnitude:
            values = values >> self._unit_magnitude
        index = values.astype(np.float64).view(np.int64)
        index >>= self._mantissa_shift
        index -= self._index_offset
        np.maximum(index, np.minimum(values, self._half_count), out=index)
        counted = np.bincount(index)
        self.counts[: counted.size] += counted

    def merge(self, other: _Tally) -> None:
        self.counts += other.counts
        self.negative += other.negative
        self.clamped += other.clamped
        self.lowest_seen = min(self.lowest_seen, other.lowest_seen)
        self.highest_seen = max(self.highest_seen, other.highest_seen)


class LatencyRecorder:
    """Records latencies in bulk; hands out one histogram per interval and the total of all.

    Measured on a 2-core machine, values log-normal around 8 ms (tests/unit/test_pure_speed.py): 13 ns a value
    in arrays of 100, 6 ns in arrays of 1,000 and 10,000, the counting included. hdrh's own record_value takes
    1,100–1,500 ns a value: at 50,000 events/s that is 55–75 ms of every second, spent holding the GIL.

    Threads: record() and the reading side (take_interval, total, negative, clamped) may be on different
    threads. Two tallies take turns: the reader swaps them under `_swap` and counts the one it took in
    peace, so the recording thread never waits for longer than the swap of two names. The reader may wait
    for one record().
    """

    def __init__(self, lowest_us: int = 1, highest_us: int = 3_600_000_000, significant: int = 3) -> None:
        if not (lowest_us >= 1 and 2 * lowest_us <= highest_us < EXACT_IN_DOUBLE):
            raise ValueError(
                f"latencies of {lowest_us}..{highest_us} µs: wanted 1 <= lowest <= highest / 2 < 2**52"
            )
        self._range = (lowest_us, highest_us, significant)
        shape = HdrHistogram(*self._range)
        self._swap = threading.Lock()  # guards which tally is active, and its content
        self._read = threading.Lock()  # guards everything below it
        self._active = _Tally(shape, BUFFERED_VALUES)
        self._spare = _Tally(shape, BUFFERED_VALUES)
        self._interval = _Tally(shape, 0)
        self._taken = _Tally(shape, 0)

    def record(self, latencies_us: Int64s) -> None:
        """Count every value of a one-dimensional int64 array; the array may be reused at once.

        Below 0 is counted as 0 (clocks disagree) and in `negative`; above the range as its end, and in
        `clamped`.
        """
        if latencies_us.dtype != np.int64:
            # Assigning floats into the buffer would truncate them, and turn NaN into a huge latency, in
            # silence.
            raise TypeError(f"latencies must be int64 microseconds, not {latencies_us.dtype}")
        with self._swap:
            self._active.add(latencies_us)

    def take_interval(self) -> HdrHistogram:
        """What was recorded since the last call, which also becomes part of the total."""
        with self._read:
            self._drain()
            histogram = self._as_histogram(self._interval)
            self._taken.merge(self._interval)
            self._interval.clear()
        return histogram

    @property
    def total(self) -> LatencySummary:
        """All that was recorded so far, taken or not: a forgotten last take must not lose a run's tail."""
        with self._read:
            self._drain()
            histogram = self._as_histogram(self._taken, self._interval)
        return LatencySummary(histogram)

    @property
    def negative(self) -> int:
        """How many values were below 0."""
        with self._read:
            self._drain()
            return self._taken.negative + self._interval.negative

    @property
    def clamped(self) -> int:
        """How many values were above the range."""
        with self._read:
            self._drain()
            return self._taken.clamped + self._interval.clamped

    def _drain(self) -> None:
        with self._swap:
            drained, self._active = self._active, self._spare
        drained.fold()
        self._interval.merge(drained)
        drained.clear()
        self._spare = drained

    def _as_histogram(self, *tallies: _Tally) -> HdrHistogram:
        # Not HdrHistogram.add: adding an empty histogram with it sets the minimum to 0 (seen in 0.10.8).
        histogram = HdrHistogram(*self._range)
        counts = np.frombuffer(histogram.counts, np.uint64)
        for tally in tallies:
            counts += tally.counts.view(np.uint64)
        histogram.total_count = int(counts.sum())
        histogram.min_value = min(tally.lowest_seen for tally in tallies)
        histogram.max_value = max(tally.highest_seen for tally in tallies)
        return histogram


class LatencySummary:
    """Percentiles of one HdrHistogram, by hdrh's own definitions but vectorised.

    hdrh walks its 23,552 counters in Python: ~2 ms a percentile and ~100 ms a mean, too slow once a second.
    """

    def __init__(self, histogram: HdrHistogram) -> None:
        self.histogram = histogram
        self.count = int(histogram.get_total_count())
        self._counts: Int64s = np.frombuffer(histogram.counts, np.uint64).astype(np.int64)
        self._cumulative: Int64s = np.cumsum(self._counts)
        self._lowest, self._size = _bucket_values(
            histogram.unit_magnitude, histogram.sub_bucket_half_count_magnitude, histogram.counts_len
        )

    def percentile_us(self, percentile: float) -> int | None:
        """The highest value equivalent to the one at this percentile; None when nothing was recorded."""
        if not 0 <= percentile <= 100:
            raise ValueError(f"percentile {percentile} is not within 0..100")
        if not self.count:
            return None  # hdrh says 0 here, which would pass any latency gate
        rank = self.histogram.get_target_count_at_percentile(percentile)
        index = int(np.searchsorted(self._cumulative, rank))
        lowest = int(self._lowest[index])
        return lowest + int(self._size[index]) - 1 if percentile else lowest

    def summary(self) -> dict[str, float | int | None]:
        """Count, and min, mean, percentiles and max in µs, each None when nothing was recorded.

        Min and max are the ends of their buckets, not the exact values: so the same summary comes out of
        the log.
        """
        mean = float(self._counts @ (self._lowest + self._size // 2)) / self.count if self.count else None
        return {
            "count": self.count,
            "min": int(self.histogram.get_min_value()) if self.count else None,
            "mean": mean,
            "p50": self.percentile_us(50),
            "p90": self.percentile_us(90),
            "p95": self.percentile_us(95),
            "p99": self.percentile_us(99),
            "p999": self.percentile_us(99.9),
            "max": int(self.histogram.get_max_value()) if self.count else None,
        }


@lru_cache(maxsize=8)
def _bucket_values(unit_magnitude: int, half_magnitude: int, length: int) -> tuple[Int64s, Int64s]:
    """Lowest value and width of each counter, by index."""
    index = np.arange(length, dtype=np.int64)
    half_count = 1 << half_magnitude
    bucket = (index >> half_magnitude) - 1
    sub_bucket = np.where(bucket < 0, index, (index & (half_count - 1)) + half_count)
    shift = np.maximum(bucket, 0) + unit_magnitude
    return sub_bucket << shift, np.left_shift(np.int64(1), shift)


class HlogWriter:
    """Writes the standard HdrHistogram log: one tagged line per call, on disk when the call returns.

    Interval_Max is in µs like the values: hdrh rounds it down to a whole unit, and in ms most would read 0.
    """

    def __init__(self, path: Path, start_epoch_s: float) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._log = HistogramLogWriter(self._file)
        # StartTime and BaseTime are printed from this one number: were they a microsecond apart, the reader
        # would take the first interval to begin before the log, and skip it.
        self._start_ms = start_epoch_s * 1000.0
        self._log.base_time = self._start_ms
        self._log.output_log_format_version()
        # hdrh 0.10.8's output_start_time cannot work (it calls datetime.iso_format): the same line by hand.
        start_s = self._start_ms / 1000.0
        start = datetime.fromtimestamp(start_s, UTC).isoformat(" ")
        self._log.output_comment(f"[StartTime: {start_s:f} (seconds since epoch), {start}]")
        self._log.output_base_time(self._start_ms)
        self._log.output_legend()
        self._file.flush()

    def write(self, tag: str, histogram: HdrHistogram, start_epoch_s: float, end_epoch_s: float) -> None:
        """One interval of the histogram called `tag`. An empty one is written too: no sample is news."""
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", tag):
            raise ValueError(f"histogram tag {tag!r}: a comma or a space in it would break the log line")
        if not self._start_ms <= start_epoch_s * 1000.0 <= end_epoch_s * 1000.0:
            raise ValueError(  # the reader's pattern knows no minus sign and would skip the line in silence
                f"interval {start_epoch_s}..{end_epoch_s} of {tag}: not in order, or before the log's start"
            )
        histogram.set_start_time_stamp(start_epoch_s * 1000.0)
        histogram.set_end_time_stamp(end_epoch_s * 1000.0)
        self._file.write(f"Tag={tag},")  # hdrh reads tags but does not write them
        self._log.output_interval_histogram(histogram, max_value_unit_ratio=1.0)
        self._file.flush()  # a run that is killed leaves every finished interval behind

    def close(self) -> None:
        self._log.close()

    def __enter__(self) -> HlogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
