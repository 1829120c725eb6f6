"""The closing table: aligned, dashes for what was not measured, no figures of a run that is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.cases import case_a, case_b
from bench.gates import evaluate
from bench.latency import LatencyRecorder
from bench.ledger import Account
from bench.outcome import Outcome
from bench.settings import RawOptions, check_options
from bench.summary import summary_table
from bench.verdict import Verdict

SETTINGS = check_options(RawOptions(rate="1000"))


def outcome(make=case_a, run_id: str = "A-1", **changed: float | int | None) -> Outcome:
    case = make(SETTINGS)
    values = {"==": 0.0, "<=": 0.0, ">=": 1.0}
    metrics: dict[str, float | int | None] = {
        **{gate.metric: values[gate.comparison] for gate in case.gates},
        "producer_rate_per_s": 50_000.4,
        "output_rate_per_s": 49_999.6,
        "lag_max": 1_234,
        "lag_slope_per_s": 0.0,
        **changed,
    }
    latency = LatencyRecorder()
    latency.record(np.full(100, 2_000, np.int64))
    return Outcome(
        case=case,
        run_id=run_id,
        folder=Path("reports") / run_id,
        report=evaluate(case.gates, metrics),
        metrics=metrics,
        account=Account(expected=10, seen=10, lost=int(metrics["lost"] or 0)),
        latency=latency.total,
        hops={},
        outages=[],
        resources={},
        driver_cpu_s_per_million={"producer": 1.25, "observer": 2.5},
        details={},
    )


def cells(table: list[str], row: int) -> dict[str, str]:
    """A row by heading; columns are at least two blanks apart, headings have single ones inside."""
    headings, values = (
        [part.strip() for part in line.split("  ") if part.strip()] for line in (table[0], table[row])
    )
    return dict(zip(headings, values, strict=True))


def test_a_row_tells_the_run() -> None:
    """If this fails, the table shows other figures than the run's."""
    row = cells(summary_table([outcome()]), 1)
    assert row == {
        "run": "A-1",
        "case": "A",
        "verdict": "PASS",
        "in/s": "50,000",
        "out/s": "50,000",
        "p50 ms": "2.00",
        "p95 ms": "2.00",
        "p99 ms": "2.00",
        "max ms": "2.00",
        "lag max": "1,234",
        "lag trend": "flat",
        "lost": "0",
        "dup": "0",
        "driver s/M": "3.75",
    }


def test_columns_are_aligned() -> None:
    """If this fails, figures stand under the wrong heading."""
    table = summary_table([outcome(), outcome(case_b, "B-mock-20260101-000000-abcd", lag_max=123_456_789)])
    assert len(table) == 3
    for heading in ("in/s", "p99 ms", "lag max", "driver s/M"):
        end = table[0].index(heading) + len(heading)
        for line in table[1:]:
            assert line[end - 1] != " "
            assert line[end : end + 2].strip() == ""
    assert all(line == line.rstrip() for line in table)


def test_what_was_not_measured_is_a_dash() -> None:
    """If this fails, nothing measured reads as a zero, the best figure there is."""
    bare = replace(
        outcome(),
        metrics={},
        account=None,
        latency=None,
        driver_cpu_s_per_million={},
    )
    row = cells(summary_table([bare]), 1)
    assert row["verdict"] == "PASS"
    assert set(list(row.values())[3:]) == {"-"}


def test_an_invalid_run_has_no_figures() -> None:
    """If this fails, somebody compares the p99 of a run that was no measurement."""
    invalid = outcome(slip_ms_p99=1e6)
    assert invalid.verdict is Verdict.INVALID
    row = cells(summary_table([invalid]), 1)
    assert list(row.values())[:3] == ["A-1", "A", "INVALID"]
    assert set(list(row.values())[3:]) == {"-"}


def test_a_failed_run_keeps_its_figures() -> None:
    """If this fails, a reader does not see by how much a run failed."""
    row = cells(summary_table([outcome(lost=12_345)]), 1)
    assert (row["verdict"], row["lost"], row["p99 ms"]) == ("FAIL", "12,345", "2.00")


def test_no_run_is_a_bare_heading() -> None:
    """If this fails, a session without runs ends in a traceback."""
    assert len(summary_table([])) == 1
