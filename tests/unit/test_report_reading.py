"""What the report makes of a run's folder: whole, cut off, damaged, or of an engine it has never seen."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.gates import Gate, evaluate
from bench.latency import HlogWriter, LatencyRecorder
from bench.ledger import Account
from bench.outage import Outage
from bench.report.chart import Chart
from bench.report.folder import read_run
from bench.report.row import row_of
from bench.report.run_charts import run_charts
from bench.report.series import MAX_POINTS
from bench.runfiles import RunFiles
from bench.sampler import Sample
from bench.verdict import Verdict

START_S = 1_700_000_003.0
GATES = (Gate("lag_max", "<=", 100, "lag is bounded"), Gate("lost", "==", 0, "every event was seen"))


def sample(t: int, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "t_s": float(t), "out_t_s": t + 0.05, "phase": "warm-up" if t <= 2 else "measure",
        "prod_max_seq": 1000 * t, "prod_sent": 1000 * t, "prod_acked": 1000 * t, "prod_rate": 1000.0,
        "out_count": 1000 * t, "out_max_seq": 1000 * t - 20, "out_rate": 999.0, "lag": 20 + t,
        "p95_ms": 4.0, "p99_ms": 5.0, "slip_p99_ms": 1.0,
    }  # fmt: skip
    return asdict(Sample(**{**values, **changes}))


def write_run(reports: Path, seconds: int = 10) -> Path:
    """A folder as a run leaves it, written with the harness's own writers."""
    files = RunFiles(reports, "A-1", START_S)
    recorder = LatencyRecorder()
    for t in range(1, seconds + 1):
        files.metric(sample(t))
        for name in ("driver", "nats"):
            files.resource({"t_s": t + 0.1, "name": name, "cpu_s": 0.5 * t, "rss_bytes": 10**8 + t})
        for tag in ("warmup", "measure", "intended_to_stored"):
            quiet = (tag == "warmup") != (t <= 2)
            recorder.record(np.arange(0 if quiet else 1000, dtype=np.int64) * 10)
            files.interval(tag, recorder.take_interval(), START_S + t - 1, START_S + t)
    metrics = {"lag_max": 30, "lost": 0, "producer_rate_per_s": 1000.0, "output_rate_per_s": 999.0}
    recorder = LatencyRecorder()
    recorder.record(np.arange(1000, dtype=np.int64) * 10)
    report = evaluate(GATES, metrics)
    result = {
        "run_id": "A-1", "case": "A", "variant": None, "verdict": report.verdict.value,
        "gates": report.as_dict(), "metrics": metrics, "lag_trend": "flat",
        "latency_us": recorder.total.summary(),
        "hops_us": {"intended_to_stored": recorder.total.summary()},
        "ledger": Account(expected=8000, seen=8000).as_dict(),
        "outages": [asdict(Outage("writer", "connection lost", 4.0, 500.0))],
        "resources": {"driver": {"rss_bytes_max": 1e8, "cpu_cores_mean": 0.5}},
    }  # fmt: skip
    files.write_json("result.json", result)
    load = {"rate_per_s": 1000, "warmup_s": 2, "measure_s": seconds - 2}
    files.write_json("manifest.json", {"run_id": "A-1", "case": "A", "load": load})
    files.close()
    return files.folder


def charts(folder: Path) -> dict[str, Chart]:
    return {chart.title: chart for chart in run_charts(read_run(folder))}


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_reads_what_the_harness_writes(tmp_path: Path) -> None:
    """Were this to fail, the report would be blank for a run that went well."""
    run = read_run(write_run(tmp_path))
    assert (run.name, run.verdict, run.damage) == ("A", Verdict.PASS, ())
    assert [gate.status for gate in run.gates] == ["passed", "passed"]
    assert len(run.samples) == 10
    assert run.histograms.start_epoch_s == pytest.approx(START_S)
    figures = row_of(run).figures
    assert figures is not None
    assert (figures.lag_max, figures.lost, figures.latency_ms_p50) == (30, 0, pytest.approx(4.99, rel=0.01))
    assert row_of(run).headline == "A keeps up: 1,000 events/s in, 999 out, p99 9.9 ms, nothing lost"


def test_every_kind_of_chart_is_there(tmp_path: Path) -> None:
    """Were this to fail, a curve that people look for would be missing without a word."""
    found = charts(write_run(tmp_path))
    names = [
        "Rate",
        "Lag",
        "Latency",
        "Latency by percentile",
        "Hop by hop",
        "Producer slip",
        "CPU",
        "Memory",
    ]
    assert list(found) == names
    assert [line.label for line in found["Hop by hop"].lines] == ["intended → stored"]
    assert found["CPU"].lines[0].values[1:] == pytest.approx([0.5] * 9)
    assert [(band.kind, band.from_s, band.to_s) for band in found["Lag"].bands] == [
        ("warm-up", 0.0, 2.0), ("drain", 10, 10.1), ("outage", 4.0, 4.5)
    ]  # fmt: skip


def test_percentile_curve_ends_at_the_maximum(tmp_path: Path) -> None:
    """Were this to fail, the plot would contradict the table, and a reader would trust neither."""
    curve = read_run(write_run(tmp_path)).histograms.tags["measure"].curve
    assert curve[0][0] == 1
    assert curve[-1] == (8000.0, pytest.approx(9.99, rel=0.001))
    assert all(low[1] <= high[1] for low, high in pairwise(curve))


def test_warm_up_is_left_out_where_it_has_no_tag_of_its_own(tmp_path: Path) -> None:
    """Were this to fail, case B's percentile plot would show its cold start as its tail."""
    folder = write_run(tmp_path)
    recorder = LatencyRecorder()
    with HlogWriter(folder / "latency.hlog", START_S) as log:
        for t, latency_us in enumerate([900_000, 900_000, 1000, 1000]):
            recorder.record(np.full(10, latency_us, np.int64))
            log.write("measure", recorder.take_interval(), START_S + t, START_S + t + 1)
    tag = read_run(folder).histograms.tags["measure"]
    assert tag.curve[-1][1] == pytest.approx(1.0, rel=0.01)
    assert tag.p99_ms[0] == pytest.approx(900, rel=0.01)


def test_window_boundaries_lie_on_the_wall_clock(tmp_path: Path) -> None:
    """Were this to fail, the sawtooth's teeth would not stand on the lines that explain them."""
    folder = write_run(tmp_path, seconds=30)
    assert charts(folder)["Lag"].windows_s == ()
    edit(folder / "manifest.json", windows={"window_ms": 10_000})
    assert charts(folder)["Lag"].windows_s == (7.0, 17.0, 27.0)


def test_an_engine_of_any_kind_has_its_progress_charted(tmp_path: Path) -> None:
    """Were this to fail, each new engine would need its own code in the report."""
    folder = write_run(tmp_path)
    with (folder / "metrics.jsonl").open("a") as file:
        for t in range(10):
            record = {
                "kind": "engine", "timestamp": f"2023-11-14T22:13:{23 + t}.000Z", "batch_id": t,
                "rows": 10 * t, "late": 0, "end_offset": {"seq": t},
                "durations_ms": {"plan": 20, "add": 100 + t},
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
    found = charts(folder)
    assert found["Engine: rows"].x == [float(t) for t in range(10)]
    assert [line.label for line in found["Engine: durations"].lines] == ["add"], "plan never changes"
    assert not any("late" in title or "offset" in title or "batch" in title for title in found)
    assert len(read_run(folder).samples) == 10


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"emission_delay_ms": 12.5}, {"mean": 12.5}),
        ({"emission_delay_ms": {"p50": 1, "p99": 2, "note": "x"}}, {"p50": 1, "p99": 2}),
        ({"metrics": {"emission_delay_ms_p99": 3}}, {"p99": 3}),
        ({}, {}),
    ],
)
def test_emission_delay_in_each_shape(
    tmp_path: Path, told: dict[str, Any], expected: dict[str, float]
) -> None:
    """Were this to fail, the one figure that a windowed engine is chosen by would be left out."""
    folder = write_run(tmp_path)
    edit(folder / "result.json", **told)
    assert read_run(folder).emission_delay_ms == expected


def test_killed_run_gives_what_it_left(tmp_path: Path) -> None:
    """Were this to fail, the run that most needs a look, the one that was killed, would have no report."""
    folder = write_run(tmp_path)
    (folder / "result.json").unlink()
    for name in ("metrics.jsonl", "latency.hlog"):
        content = (folder / name).read_bytes().rstrip()
        (folder / name).write_bytes(content[:-40])
    run = read_run(folder)
    assert run.verdict is Verdict.INVALID
    assert run.invalid_reasons == ("the run did not end: it left no result",)
    assert row_of(run).figures is None
    assert (run.case, len(run.samples)) == ("A", 9)
    assert len(run.damage) == 3, run.damage
    assert "Lag" in charts(folder)


@pytest.mark.parametrize(
    "name", ["result.json", "manifest.json", "metrics.jsonl", "resources.jsonl", "latency.hlog"]
)
@pytest.mark.parametrize(
    "content",
    [None, b"", b"[1, 2]", b"null", b"\xff\xfe\x00{", b'{"t_s": "x", "load": 7}', b"Tag=a,1.2.3,4,5,x"],
)
def test_no_damage_is_a_crash(tmp_path: Path, name: str, content: bytes | None) -> None:
    """Were this to fail, one bad file would take the report of the whole night with it."""
    folder = write_run(tmp_path, seconds=3)
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    run = read_run(folder)
    run_charts(run)
    row_of(run)


@pytest.mark.parametrize(
    "key", ["gates", "metrics", "latency_us", "hops_us", "ledger", "outages", "resources", "verdict", "case"]
)
@pytest.mark.parametrize(
    "value", [None, 3, "x", [1, "x", None], {"a": "b", "results": [{}], "c": {"p50": "y"}}]
)
def test_no_odd_result_is_a_crash(tmp_path: Path, key: str, value: object) -> None:
    """Were this to fail, a result of another version could not be shown beside today's."""
    folder = write_run(tmp_path, seconds=3)
    edit(folder / "result.json", **{key: value})
    run = read_run(folder)
    run_charts(run)
    row_of(run)


def test_invalid_run_has_no_figures(tmp_path: Path) -> None:
    """Were this to fail, a number that was never measured would stand in the table beside real ones."""
    folder = write_run(tmp_path)
    gates = {"invalid_reasons": ["writer: OSError: no route\nto the host"], "results": []}
    edit(folder / "result.json", verdict="INVALID", gates=gates)
    row = row_of(read_run(folder))
    assert row.figures is None
    assert row.headline == "A could not be measured: writer: OSError: no route"


def test_failed_run_says_what_was_violated(tmp_path: Path) -> None:
    """Were this to fail, the headline would not tell why the night was red."""
    folder = write_run(tmp_path)
    metrics = {"lag_max": 4_002, "lost": 12}
    edit(folder / "result.json", verdict="FAIL", gates=evaluate(GATES, metrics).as_dict(), metrics=metrics)
    assert row_of(read_run(folder)).headline == "A fails: lag reaches 4,002 (bound 100), 12 lost"


def test_long_run_is_thinned_to_its_worst(tmp_path: Path) -> None:
    """Were this to fail, a run of a day would make a page that no browser opens, or hide its one stall."""
    folder = write_run(tmp_path)
    lines = [json.dumps(sample(t, lag=99_999 if t == 7_777 else 5)) for t in range(1, 20_001)]
    (folder / "metrics.jsonl").write_text("\n".join(lines))
    lag = charts(folder)["Lag"]
    assert len(lag.x) <= MAX_POINTS
    assert max(value or 0 for value in lag.lines[0].values) == 99_999


def test_restarted_service_has_no_negative_cpu(tmp_path: Path) -> None:
    """Were this to fail, a restart would look like a service that gave CPU time back."""
    folder = write_run(tmp_path)
    lines = [
        {"t_s": t, "name": "nats", "cpu_s": cpu_s, "rss_bytes": 1} for t, cpu_s in enumerate([5, 6, 0.1, 0.6])
    ]
    (folder / "resources.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert charts(folder)["CPU"].lines[0].values == [None, 1, None, 0.5]
