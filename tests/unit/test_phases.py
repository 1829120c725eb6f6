"""Which samples count as measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.phases import PhasedRecorder, Phases

PHASES = Phases(start_ns=100, measure_from_ns=200, measure_to_ns=300)


@pytest.mark.parametrize(
    ("at_ns", "name"),
    [(0, "warm-up"), (199, "warm-up"), (200, "measure"), (299, "measure"), (300, "drain"), (999, "drain")],
)
def test_borders(at_ns: int, name: str) -> None:
    """If this fails, the first or last instant of the measure window counts elsewhere."""
    assert PHASES.name(at_ns) == name
    assert PHASES.measuring(at_ns) == (name == "measure")


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.lists(st.tuples(st.integers(100, 299), st.integers(0, 5_000_000)), max_size=20), max_size=6)
)
def test_a_sample_belongs_to_the_phase_of_its_intended_time(batches: list[list[tuple[int, int]]]) -> None:
    """If this fails, warm-up latencies spoil the percentiles, or late ones of the window escape them."""
    recorder = PhasedRecorder(PHASES, late_after_s=2.0)
    for batch in batches:
        intended = np.array([at for at, _ in batch], np.int64)
        recorder.record(intended, np.array([latency for _, latency in batch], np.int64))
    samples = [sample for batch in batches for sample in batch]
    measured = [latency for at, latency in samples if at >= 200]
    warm = [latency for at, latency in samples if at < 200]
    for total, wanted in ((recorder.measure.total, measured), (recorder.warmup.total, warm)):
        assert total.count == len(wanted)
        assert (total.percentile_us(100) or 0) == pytest.approx(max(wanted, default=0), rel=0.002, abs=1)
    assert recorder.late == sum(latency > 2_000_000 for _, latency in samples)
