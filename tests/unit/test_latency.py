"""Recording, summarising and logging latencies, against hdrh's own slow way of doing each."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.latency import BUFFERED_VALUES, HlogWriter, LatencyRecorder, LatencySummary

HIGHEST_US = 3_600_000_000
relaxed = settings(deadline=None)  # a busy machine is no finding
# Powers of two and their neighbours are where an index can be off by one.
EDGES = sorted(
    {max(0, 2**k + d) for k in range(32) for d in (-1, 0, 1) if 2**k + d <= HIGHEST_US} | {HIGHEST_US}
)
values_us = st.one_of(st.sampled_from(EDGES), st.integers(0, 5000), st.integers(0, HIGHEST_US))


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def counts(histogram: HdrHistogram) -> list[int]:
    """The counters that are not 0, as index and count in turn."""
    array = np.frombuffer(histogram.counts, np.uint64)
    return [int(number) for index in np.flatnonzero(array) for number in (index, array[index])]


def one_by_one(values: list[int], lowest: int = 1, significant: int = 3) -> HdrHistogram:
    histogram = HdrHistogram(lowest, HIGHEST_US, significant)
    for value in values:
        assert histogram.record_value(value)
    return histogram


@relaxed
@given(
    chunks=st.lists(st.lists(values_us, max_size=50), max_size=5),
    lowest=st.sampled_from([1, 2, 3, 7, 8, 1000]),
    significant=st.integers(1, 4),
)
def test_bulk_recording_equals_value_by_value(chunks: list[list[int]], lowest: int, significant: int) -> None:
    """If this fails, every percentile of every report is off: values land in other buckets than hdrh's."""
    recorder = LatencyRecorder(lowest, HIGHEST_US, significant)
    for chunk in chunks:
        recorder.record(int64(*chunk))
    expected = one_by_one([value for chunk in chunks for value in chunk], lowest, significant)
    taken = recorder.take_interval()
    assert counts(taken) == counts(expected)
    assert (taken.total_count, taken.min_value, taken.max_value) == (
        expected.total_count,
        expected.min_value,
        expected.max_value,
    )


@pytest.mark.parametrize("significant", [1, 2, 3, 4, 5])
def test_every_edge_lands_in_hdrhs_bucket(significant: int) -> None:
    """If this fails, a value beside a power of two is counted in its neighbour's bucket."""
    recorder = LatencyRecorder(significant=significant)
    recorder.record(int64(*EDGES))
    assert counts(recorder.take_interval()) == counts(one_by_one(EDGES, significant=significant))


@pytest.mark.parametrize(
    "size", [BUFFERED_VALUES - 1, BUFFERED_VALUES, BUFFERED_VALUES + 1, 3 * BUFFERED_VALUES + 5]
)
def test_nothing_is_lost_when_the_buffer_fills(size: int) -> None:
    """If this fails, values vanish or count twice each time the recording buffer is folded."""
    values = np.random.default_rng(size).integers(0, 10_000_000, size)
    recorder = LatencyRecorder()
    for start in range(0, size, 700):
        recorder.record(values[start : start + 700])
    recorder.record(values)
    expected = np.frombuffer(one_by_one(values.tolist()).counts, np.uint64) * 2
    assert np.array_equal(np.frombuffer(recorder.take_interval().counts, np.uint64), expected)


def test_out_of_range_values_are_clamped_and_counted() -> None:
    """If this fails, a clock running backwards or an hour-long stall leaves no trace in the run."""
    recorder = LatencyRecorder()
    recorder.record(int64(-5, -1, 0, 10, HIGHEST_US, HIGHEST_US + 1, 2**62))
    taken = recorder.take_interval()
    assert (recorder.negative, recorder.clamped) == (2, 2)
    assert counts(taken) == counts(one_by_one([0, 0, 0, 10] + [HIGHEST_US] * 3))
    assert (taken.min_value, taken.max_value) == (0, HIGHEST_US)


def test_only_negative_values_make_a_histogram_of_zeros() -> None:
    """If this fails, an interval in which every latency was negative reports a negative or huge maximum."""
    recorder = LatencyRecorder()
    recorder.record(int64(-7, -3))
    assert recorder.total.summary()["max"] == 0
    assert recorder.negative == 2


def test_the_callers_array_is_left_alone() -> None:
    """If this fails, recording changes the caller's array, or a reused array changes what was recorded."""
    values = int64(-5, 100)
    recorder = LatencyRecorder()
    recorder.record(values)
    values[:] = 777
    assert recorder.negative == 1
    assert recorder.total.percentile_us(100) == 100
    assert values.tolist() == [777, 777]


def test_floats_are_refused() -> None:
    """If this fails, seconds given as floats are truncated to zero latencies."""
    with pytest.raises(TypeError, match="int64"):
        LatencyRecorder().record(np.array([0.5]))


@pytest.mark.parametrize(("lowest", "highest"), [(0, 100), (10, 19), (1, 2**53)])
def test_impossible_ranges_are_refused(lowest: int, highest: int) -> None:
    """If this fails, a range that the bucket arithmetic cannot hold gives wrong buckets, not an error."""
    with pytest.raises(ValueError, match="latencies of"):
        LatencyRecorder(lowest, highest)


def test_intervals_are_disjoint_and_the_total_has_all() -> None:
    """If this fails, a second is counted into its neighbour, or the tail after the last take is lost."""
    recorder = LatencyRecorder()
    recorder.record(int64(100, 200))
    first = LatencySummary(recorder.take_interval())
    empty = LatencySummary(recorder.take_interval())
    recorder.record(int64(300))
    assert (first.count, empty.count) == (2, 0)
    assert recorder.total.count == 3
    assert recorder.total.summary()["min"] == 100  # an empty interval must not drag the minimum to 0
    assert LatencySummary(recorder.take_interval()).percentile_us(50) == 300
    assert recorder.total.count == 3


@settings(deadline=None, max_examples=40)  # hdrh takes some 100 ms for each
@given(st.lists(values_us, min_size=1, max_size=200), st.floats(0, 100))
def test_summary_equals_hdrh(values: list[int], percentile: float) -> None:
    """If this fails, our percentiles and those of any HdrHistogram tool on the same log disagree."""
    expected = one_by_one(values)
    recorder = LatencyRecorder()
    recorder.record(int64(*values))
    total = recorder.total
    assert total.percentile_us(percentile) == expected.get_value_at_percentile(percentile)
    assert total.summary() == {
        "count": len(values),
        "min": expected.get_min_value(),
        "mean": pytest.approx(expected.get_mean_value(), rel=1e-12),
        "p50": expected.get_value_at_percentile(50),
        "p90": expected.get_value_at_percentile(90),
        "p95": expected.get_value_at_percentile(95),
        "p99": expected.get_value_at_percentile(99),
        "p999": expected.get_value_at_percentile(99.9),
        "max": expected.get_max_value(),
    }


def test_nothing_recorded_has_no_percentile() -> None:
    """If this fails, a run without a sample reports a latency of 0 and passes its gates."""
    total = LatencyRecorder().total
    summary = total.summary()
    assert total.percentile_us(99) is None
    assert summary.pop("count") == 0
    assert set(summary.values()) == {None}


@pytest.mark.parametrize("percentile", [-1, 100.1, float("nan")])
def test_impossible_percentile_is_refused(percentile: float) -> None:
    """If this fails, a mistyped percentile (0.99 is fine, 999 is not) silently returns the maximum."""
    with pytest.raises(ValueError, match="percentile"):
        LatencyRecorder().total.percentile_us(percentile)


def test_one_thread_records_while_another_takes() -> None:
    """If this fails, values are lost or counted twice when an interval is taken during a record."""
    recorder = LatencyRecorder()
    rounds, batch = 20_000, np.arange(137, dtype=np.int64)
    done = threading.Event()
    usual_s = sys.getswitchinterval()

    def record() -> None:
        try:
            for _ in range(rounds):
                recorder.record(batch)
        finally:
            done.set()

    thread = threading.Thread(target=record)
    taken = 0
    sys.setswitchinterval(1e-6)  # threads change places inside record(), not only between calls
    try:
        thread.start()
        while not done.is_set():
            taken += recorder.take_interval().get_total_count()
        thread.join()
    finally:
        sys.setswitchinterval(usual_s)
    taken += recorder.take_interval().get_total_count()
    assert taken == recorder.total.count == rounds * batch.size


def test_log_round_trip(tmp_path: Path) -> None:
    """If this fails, the latency log of a run cannot be read back by HdrHistogram tools."""
    path = tmp_path / "run.hlog"
    start_s = 1_700_000_000.1234567
    recorder = LatencyRecorder()
    written = []
    with HlogWriter(path, start_s) as log:
        for second, values in enumerate([[5, 5, 900_000], [], [HIGHEST_US, 0]]):
            recorder.record(int64(*values))
            written.append(recorder.take_interval())
            log.write("e2e" if second else "slip", written[-1], start_s + second, start_s + second + 1)

    reader = HistogramLogReader(str(path), HdrHistogram(1, HIGHEST_US, 3))
    read = [reader.get_next_interval_histogram() for _ in written]
    assert reader.get_next_interval_histogram() is None
    reader.close()
    assert [one.get_tag() for one in read] == ["slip", "e2e", "e2e"]
    for second, (before, after) in enumerate(zip(written, read, strict=True)):
        assert counts(after) == counts(before)
        assert LatencySummary(after).summary() == LatencySummary(before).summary()
        assert after.get_start_time_stamp() == pytest.approx((start_s + second) * 1000, abs=0.01)
        assert after.get_end_time_stamp() == pytest.approx((start_s + second + 1) * 1000, abs=0.01)


@relaxed
@given(start_s=st.floats(1.6e9, 2.0e9))
def test_the_first_interval_is_never_skipped(
    tmp_path_factory: pytest.TempPathFactory, start_s: float
) -> None:
    """If this fails, rounding makes the reader take the first interval as older than the log, and drop it."""
    path = tmp_path_factory.mktemp("hlog") / "run.hlog"
    with HlogWriter(path, start_s) as log:
        log.write("e2e", one_by_one([1]), start_s, start_s)
    reader = HistogramLogReader(str(path), HdrHistogram(1, HIGHEST_US, 3))
    assert reader.get_next_interval_histogram() is not None
    reader.close()


def test_a_line_is_on_disk_when_write_returns(tmp_path: Path) -> None:
    """If this fails, a killed run leaves no latencies behind."""
    path = tmp_path / "run.hlog"
    log = HlogWriter(path, 1000.0)
    log.write("e2e", one_by_one([1]), 1000.0, 1001.0)
    assert path.read_text().splitlines()[-1].startswith("Tag=e2e,0.000000,1.000000,1.000000,HIST")
    log.close()


@pytest.mark.parametrize(
    ("tag", "start_s", "end_s"),
    [("a,b", 1000.0, 1001.0), ("", 1000.0, 1001.0), ("ok", 999.0, 1001.0), ("ok", 1002.0, 1001.0)],
)
def test_lines_that_could_not_be_read_back_are_refused(
    tmp_path: Path, tag: str, start_s: float, end_s: float
) -> None:
    """If this fails, the log holds lines that a reader skips without a word."""
    with HlogWriter(tmp_path / "run.hlog", 1000.0) as log, pytest.raises(ValueError, match=r"interval|tag"):
        log.write(tag, one_by_one([1]), start_s, end_s)
