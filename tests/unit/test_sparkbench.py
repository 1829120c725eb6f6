"""bench-spark: what becomes of the turns and runs it measured."""

from __future__ import annotations

import json
import os
import subprocess

import orjson
import pytest

from bench.driverbench.errors import TurnFailed
from bench.sparkbench.__main__ import _parse
from bench.sparkbench.cores import cores_apart
from bench.sparkbench.ladder import Rung, emission_delay_ms_p99, sustained
from bench.sparkbench.report import EFFICIENCY, Report
from bench.sparkbench.spark_turns import _turn, told_lines
from bench.sparkbench.turn import FILES, JETSTREAM, RAW, Turn, efficiency, median_turn
from bench.verdict import Verdict
from spark_jobs.throughput import PREFIX


def turns(raw: float, files: float, jetstream: float) -> list[Turn]:
    rates = {RAW: raw, FILES: files, JETSTREAM: jetstream}
    return [Turn(mode, rate, 1.0, 2.0) for mode, rate in rates.items()]


def rung(rate: int, verdict: str, delay: float | None = 900.0) -> Rung:
    return Rung(rate, verdict, (), delay, delay, f"C-{rate}")


@pytest.mark.parametrize(("raw", "files"), [(100.0, 400.0), (400.0, 100.0)])
def test_efficiency_is_against_the_slower_of_broker_and_engine(raw, files):
    """If this fails, a fast broker excuses a slow source, or a slow one condemns it."""
    assert efficiency(turns(raw, files, 80.0)) == pytest.approx(0.8)


def test_a_disturbed_turn_does_not_decide():
    """If this fails, one stall on a shared machine makes the figure."""
    played = [Turn(FILES, rate, cpu, 0.0) for rate, cpu in ((100, 5.0), (10, 9.0), (110, 4.0))]
    assert median_turn(played, FILES) == Turn(FILES, 100, 5.0, 0.0)


def test_the_sustained_rate_passed_every_gate():
    """If this fails, a rate that failed or could not be measured is quoted."""
    rungs = [rung(10, "PASS"), rung(40, "PASS"), rung(60, "INVALID"), rung(80, "FAIL")]
    assert sustained(rungs) == 40
    assert sustained(rungs[2:]) is None


def test_the_emission_delay_is_that_of_its_rate_and_measured():
    """If this fails, the delay of another rate, or of a run that was no measurement, is told."""
    rungs = [rung(10, "PASS", 700.0), rung(20, "FAIL", 800.0), rung(40, "INVALID", 1.0)]
    assert emission_delay_ms_p99(rungs, 10) == 700.0
    assert emission_delay_ms_p99(rungs, 20) == 800.0
    assert emission_delay_ms_p99(rungs, 40) is None
    assert emission_delay_ms_p99(rungs, 30) is None


@pytest.mark.parametrize(
    ("jetstream", "rungs", "verdict"),
    [
        (90.0, [rung(10_000, "PASS"), rung(60_000, "PASS")], Verdict.PASS),
        (60.0, [rung(10_000, "PASS"), rung(60_000, "PASS")], Verdict.FAIL),
        (90.0, [rung(10_000, "PASS")], Verdict.FAIL),
        (90.0, [rung(10_000, "PASS", 1_300.0), rung(60_000, "PASS")], Verdict.FAIL),
        (90.0, [rung(10_000, "INVALID")], Verdict.INVALID),
    ],
)
def test_every_bar_can_be_missed(jetstream, rungs, verdict, tmp_path):
    """If this fails, a bar is shown as held that nobody checks."""
    report = Report(turns(100.0, 120.0, jetstream), rungs, {"events": 1}, {"cores": 2})
    assert report.judged.verdict is verdict
    assert ("MISSED" in "\n".join(report.tables()[2])) == (verdict is not Verdict.PASS)
    report.write(tmp_path / "deep" / "spark.json")
    told = orjson.loads((tmp_path / "deep" / "spark.json").read_bytes())
    assert {"efficiency", "sustained_events_per_s", "emission_delay_ms_p99"} <= told.keys()
    assert told["efficiency"] == pytest.approx(jetstream / 100)


def test_bars_are_told_as_people_read_them():
    """If this fails, 100,000 events/s are told as 1e+05, or a figure just past its bar looks equal to it."""
    rungs = [rung(10_000, "PASS", 1_200.4), rung(100_000, "PASS")]
    bars = "\n".join(Report(turns(100.0, 120.0, 90.0), rungs, {}, {}).tables()[2])
    assert "100,000/s" in bars
    assert "1200.4" in bars


def told(*batches: tuple[int, int]) -> dict:
    of = [{"rows": rows, "trigger_ms": ms} for rows, ms in batches]
    return {"mode": FILES, "batches": of, "elapsed_s": 1.0, "spark_cpu_s": 3.0, "server_cpu_s": 1.5}


def test_a_turn_counts_without_its_first_batch():
    """If this fails, compiling is measured, or CPU is told for another number of events."""
    turn = _turn(told((100, 5000), (100, 50), (100, 50)), 300)
    assert turn == Turn(FILES, 2000.0, 10_000.0, 5_000.0)
    assert _turn(told((300, 150)), 300).events_per_s == 2000.0


def test_a_turn_that_read_too_little_is_no_turn():
    """If this fails, a source that skips events looks fast."""
    with pytest.raises(TurnFailed, match="read 200 of 300"):
        _turn(told((100, 50), (100, 50)), 300)


def test_lines_are_read_when_they_are_whole(tmp_path):
    """If this fails, a line that is being written is a crash of the benchmark."""
    log = tmp_path / "log"
    assert told_lines(log, PREFIX) == []
    whole = PREFIX + json.dumps(told((1, 1)))
    log.write_text(f"WARN of Spark\n{whole}\n{whole[:20]}")
    assert told_lines(log, PREFIX) == [whole.removeprefix(PREFIX)]


@pytest.mark.parametrize("text", ["", "a", "1,,2", "0", "-5", "1.5"])
def test_bad_rates_are_one_line(text, capsys):
    """If this fails, a typing error is a traceback, or a run at rate 0."""
    with pytest.raises(SystemExit) as ended:
        _parse([f"--rates={text}"])
    assert ended.value.code == 2
    assert f"--rates: {text}" in capsys.readouterr().err


def test_cores_apart_are_given_back_and_not_shared():
    """The server would take the engine's time after all, or all that follows would have half a machine."""
    ours = os.sched_getaffinity(0)
    if len(ours) < 2:
        pytest.skip("one core cannot be parted")
    server = subprocess.Popen(["sleep", "30"])
    try:
        with cores_apart([server.pid]) as count:
            theirs = os.sched_getaffinity(server.pid)
            assert len(os.sched_getaffinity(0)) == count
            assert not theirs & os.sched_getaffinity(0)
            assert theirs | os.sched_getaffinity(0) == ours
    finally:
        server.kill()
        server.wait()
    assert os.sched_getaffinity(0) == ours


def test_apart_only_the_efficiency_is_judged():
    """Runs that were not made would be bars missed."""
    report = Report(turns(100.0, 100.0, 80.0), (), {}, {}, bars=(EFFICIENCY,))
    assert report.judged.verdict is Verdict.PASS
    assert len(report.tables()) == 2
