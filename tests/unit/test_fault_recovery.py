"""Recovery out of a record of looks: outage, first output, peak and return of the lag."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.fault.hold import Crashed, Hold
from bench.fault.recovery import Look, Struck, recoveries
from bench.fault.spec import Fault

relaxed = hypothesis_settings(deadline=None)  # a busy machine is no finding
RATE = 100
FAULT = Fault("tidb", "pause", 10.0, 3.0)


def steady(to_s: float, silences: list[tuple[float, float]], catch_up_s: float = 1.0) -> list[Look]:
    """Ten looks a second at a pipeline 0.1 s behind, that is silent at times and then catches up."""
    looks, out = [], 0
    for step in range(int(to_s * 10)):
        at_s = (step + 1) / 10
        due = int(at_s * RATE)
        silent = any(start <= at_s < end for start, end in silences)
        if not silent:
            behind = due - RATE // 10 - out
            out += min(behind, max(RATE // 10, int(behind / max(1, catch_up_s * 3))))
        looks.append(Look(at_s, due - out, out))
    return looks


def test_a_silence_of_three_seconds_is_measured() -> None:
    """If this fails, the table of outages is made of wrong figures."""
    looks = steady(30, [(10.0, 13.5)])
    (one,) = recoveries(looks, [Struck(FAULT, 10.0, 13.0)], 2.0, 99.0, RATE)
    assert one.outage_ms == pytest.approx(3600, abs=150)
    assert one.calm_silence_ms == pytest.approx(100, abs=20)
    assert one.first_output_ms == pytest.approx(500, abs=110)
    assert 340 <= one.lag_peak <= 370
    assert one.lag_back_ms is not None
    assert 3500 < one.lag_back_ms < 10_000


def test_no_silence_is_no_outage() -> None:
    """If this fails, a fault that nobody felt is reported as an outage."""
    (one,) = recoveries(steady(30, []), [Struck(FAULT, 10.0, 13.0)], 2.0, 99.0, RATE)
    assert one.outage_ms == pytest.approx(one.calm_silence_ms, abs=20)
    assert one.lag_back_ms == 0.0


def test_a_run_that_stays_behind_has_not_recovered() -> None:
    """If this fails, a pipeline that never comes back passes."""
    (one,) = recoveries(steady(20, [(10.0, 99.0)]), [Struck(FAULT, 10.0, 13.0)], 2.0, 99.0, RATE)
    assert one.lag_back_ms is None
    assert one.first_output_ms is None
    assert one.outage_ms == pytest.approx(10_000, abs=200)


def test_each_fault_has_its_own_figures() -> None:
    """If this fails, one bad cell colours the others of the same run."""
    looks = steady(40, [(10.0, 15.0), (30.0, 31.0)])
    first, second = recoveries(looks, [Struck(FAULT, 10.0, 15.0), Struck(FAULT, 30.0, 31.0)], 2.0, 99.0, RATE)
    assert first.outage_ms == pytest.approx(5_100, abs=200)
    assert second.outage_ms == pytest.approx(1_100, abs=200)
    assert second.lag_peak < first.lag_peak


def test_a_straggler_after_the_load_is_no_outage() -> None:
    """If this fails, one redelivered row long after the end makes an outage out of a quiet pipeline."""
    total = 15 * RATE
    looks = [replace(look, lag=max(0, total - look.out_count - 1)) for look in steady(15.2, [(10.0, 11.0)])]
    looks += [Look(16 + step / 10, 1, looks[-1].out_count) for step in range(90)]
    looks.append(Look(26.0, 0, looks[-1].out_count + 1))
    (one,) = recoveries(looks, [Struck(FAULT, 10.0, 11.0)], 2.0, 15.0, RATE)
    assert one.outage_ms < 2_000


def test_lag_that_comes_back_when_the_load_is_over_is_told_apart() -> None:
    """If this fails, a pipeline that could not catch up under load looks as if it had."""
    looks = steady(30, [(10.0, 14.0)])
    (early,) = recoveries(looks, [Struck(FAULT, 10.0, 13.0)], 2.0, 29.0, RATE)
    (late,) = recoveries(looks, [Struck(FAULT, 10.0, 13.0)], 2.0, 13.0, RATE)
    assert early.under_load
    assert not late.under_load


def test_nothing_seen_is_nothing_claimed() -> None:
    """If this fails, a fault that did not happen, or was not looked at, has figures."""
    assert recoveries([], [Struck(FAULT, 1.0, 2.0)], 0.0, 99.0, RATE) == []
    assert recoveries(steady(5, []), [], 0.0, 99.0, RATE) == []


@relaxed
@given(st.floats(3.0, 15.0), st.floats(0.2, 5.0))
def test_the_outage_is_never_shorter_than_the_silence(at_s: float, length_s: float) -> None:
    """If this fails, some moment of a fault makes its outage look shorter than it was."""
    looks = steady(30, [(at_s, at_s + length_s)])
    (one,) = recoveries(looks, [Struck(FAULT, at_s, at_s + length_s)], 1.0, 99.0, RATE)
    assert one.outage_ms >= length_s * 1000 - 1
    assert one.outage_ms <= length_s * 1000 + 300


def test_a_driver_is_frozen_until_let_go() -> None:
    """If this fails, pausing the writer or the producer does nothing, and the cell passes for nothing."""
    hold, stop = Hold(), threading.Event()
    hold.check(stop)  # nothing is asked: it returns at once
    hold.freeze()
    passed = threading.Event()
    thread = threading.Thread(target=lambda: (hold.check(stop), passed.set()), daemon=True)
    thread.start()
    assert not passed.wait(0.1)
    hold.let_go()
    assert passed.wait(5)


def test_a_crash_is_raised_once_and_waits_to_be_let_go() -> None:
    """If this fails, a killed driver dies twice, or is back before its time."""
    hold, stop = Hold(), threading.Event()
    hold.crash()
    with pytest.raises(Crashed):
        hold.check(stop)
    waited = threading.Event()
    threading.Thread(target=lambda: (hold.wait(stop), waited.set()), daemon=True).start()
    assert not waited.wait(0.1)
    hold.let_go()
    assert waited.wait(5)
    hold.check(stop)


def test_a_stop_ends_every_wait() -> None:
    """If this fails, Ctrl-C during a fault hangs."""
    hold, stop = Hold(), threading.Event()
    hold.freeze()
    stop.set()
    hold.check(stop)
