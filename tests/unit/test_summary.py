"""The closing table: aligned, dashes for what was not measured, no figures of a run that is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.report import NotRun
from bench.report.histogram_log import HistogramLog
from bench.report.run import Component, Ledger, Run
from bench.summary import summary_lines
from bench.verdict import Verdict

RUN = Run(
    run_id="C-1", case="C", variant="spark", verdict=Verdict.PASS, invalid_reasons=(), gates=(),
    metrics={"producer_rate_per_s": 50_000.4, "output_rate_per_s": 49_999.6, "lag_max": 1_234,
             "output_rate_peak_per_s": 52_000.0, "lag_slope_per_s": 0.0},
    lag_trend="flat", latency_us={"p50": 2000, "p95": 3000, "p99": 4000, "max": 9000}, hops=(),
    ledger=Ledger({"lost": 0, "duplicates": 0}, {}), outages=(),
    components=(Component("driver", 0.5, 1.2e8), Component("nats", 0.25, 4e7)),
    driver_cpu_s_per_million={}, emission_delay_ms={"p50": 800.0, "p99": 950.0}, window_s=10.0,
    warmup_s=1.0, measure_s=5.0, target_rate_per_s=50_000, samples=(), resources=(), progress=(),
    histograms=HistogramLog(), manifest={}, details={}, damage=(),
)  # fmt: skip


def test_a_row_tells_the_run() -> None:
    """If this fails, the table shows other figures than the run's, or hides what a reader looks for."""
    table = summary_lines([RUN])
    for heading in ("peak rate", "mean rate", "p50", "p99", "max", "lag max", "lag trend", "emission delay"):
        assert heading in table[0]
    assert table[1].split() == [
        *("C-spark", "PASS", "52,000/s", "50,000/s", "2.0", "ms", "3.0", "ms", "4.0", "ms", "9.0", "ms"),
        *("1,234", "flat", "0", "0", "p50", "800", "ms", "driver", "0.50", "·", "120", "MB"),
    ]
    assert table[2].split() == [
        "at",
        "50,000/s",
        "±0/s",
        "p99",
        "950",
        "ms",
        "nats",
        "0.25",
        "·",
        "40.0",
        "MB",
    ]


def test_columns_are_aligned() -> None:
    """If this fails, figures stand under the wrong heading."""
    other = replace(RUN, case="D", metrics={**RUN.metrics, "lag_max": 123_456_789})
    table = summary_lines([RUN, other])
    for heading in ("mean rate", "p99", "lag max", "lost"):
        end = table[0].index(heading) + len(heading)
        for line in (table[1], table[3]):
            assert line[end - 1] != " ", heading
            assert line[end : end + 2].strip() == "", heading
    assert all(line == line.rstrip() for line in table)


def test_what_was_not_measured_is_a_dash() -> None:
    """If this fails, nothing measured reads as a zero, the best figure there is."""
    bare = replace(RUN, metrics={}, latency_us={}, ledger=None, components=(), emission_delay_ms={})
    row = summary_lines([replace(bare, lag_trend="–")])[1]
    assert not any(character in "0123456789" for character in row)
    assert row.count("–") >= 9


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INVALID])
def test_only_a_measurement_has_figures(verdict: Verdict) -> None:
    """If this fails, somebody compares the p99 of a run that was none, or misses by how much one failed."""
    run = replace(RUN, verdict=verdict, invalid_reasons=("the clock jumped",))
    row = summary_lines([run])[1]
    assert verdict.value in row
    assert ("4.0 ms" in row) == (verdict is not Verdict.INVALID)
    assert ("the clock jumped" in row) == (verdict is Verdict.INVALID)


def test_what_was_not_run_stands_beside_its_case() -> None:
    """If this fails, a reader takes an engine that was not there for one that was forgotten."""
    table = summary_lines([replace(RUN, case="E"), RUN], [NotRun("D", "arroyo", "no image")])
    assert [line.split()[0] for line in table[1:] if not line.startswith(" ") and "at " not in line[:3]] == [
        "C-spark",
        "D-arroyo",
        "E-spark",
    ]
    assert any(line.endswith("not run: no image") for line in table)


def test_no_run_is_a_bare_heading() -> None:
    """If this fails, a session without runs ends in a traceback."""
    assert len(summary_lines([])) == 1
