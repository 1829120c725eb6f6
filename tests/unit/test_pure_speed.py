"""What recording and marking cost. No time is asserted: read the table, compare it with the last one."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from pytest_benchmark.fixture import BenchmarkFixture

from bench.latency import LatencyRecorder, LatencySummary
from bench.seqset import SeqLedger

pytestmark = pytest.mark.bench

SIZES = [100, 1_000, 10_000]
CALLS = 64  # per round: enough to fold the recorder's buffer a fair number of times even with small arrays


def latencies_us(size: int) -> np.ndarray:
    return np.random.default_rng(1).lognormal(9, 1.5, size).astype(np.int64)


@pytest.mark.parametrize("size", SIZES)
def test_record(benchmark: BenchmarkFixture, size: int) -> None:
    """If this grows, the observer falls behind because of its own bookkeeping."""
    recorder, values, calls = LatencyRecorder(), latencies_us(size), range(CALLS * 10_000 // size)

    def run() -> None:
        for _ in calls:
            recorder.record(values)

    benchmark.extra_info["values_per_round"] = len(calls) * size
    benchmark(run)


def test_record_one_by_one_with_hdrh(benchmark: BenchmarkFixture) -> None:
    """If this is no longer far slower than test_record, the bulk recorder has lost its reason to exist."""
    histogram, values = HdrHistogram(1, 3_600_000_000, 3), latencies_us(1_000).tolist()

    def run() -> None:
        for value in values:
            histogram.record_value(value)

    benchmark.extra_info["values_per_round"] = len(values)
    benchmark(run)


def test_take_interval_and_summary(benchmark: BenchmarkFixture) -> None:
    """If this grows to a good part of a second, the once-a-second metric line is late."""
    recorder, values = LatencyRecorder(), latencies_us(10_000)

    def run() -> None:
        recorder.record(values)
        LatencySummary(recorder.take_interval()).summary()

    benchmark(run)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ["contiguous", "shuffled", "every_16th", "anywhere"])
def test_mark(benchmark: BenchmarkFixture, size: int, order: str) -> None:
    """If this grows, exactly-once accounting limits the rate that can be observed."""
    total = 640_000
    every = np.arange(1, total + 1, dtype=np.int64)
    rng = np.random.default_rng(1)
    seqs = {
        "contiguous": every,
        "shuffled": rng.permuted(every.reshape(-1, size), axis=1).ravel(),  # within one fetched batch
        "every_16th": every.reshape(-1, 16).T.ravel(),  # one partition after the other
        "anywhere": rng.permutation(every),
    }[order]
    batches = [seqs[start : start + size] for start in range(0, total, size)]

    def fresh() -> tuple[tuple[SeqLedger], dict[str, object]]:
        return (SeqLedger(total),), {}

    def run(ledger: SeqLedger) -> None:
        for batch in batches:
            ledger.mark(batch)
        assert ledger.missing_count == ledger.duplicates == 0

    benchmark.extra_info["values_per_round"] = total
    benchmark.pedantic(run, setup=fresh, rounds=10)  # type: ignore[no-untyped-call]
