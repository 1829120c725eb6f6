"""A driver's thread cannot die in silence."""

from __future__ import annotations

import os
import threading
import time

import pytest

from bench.worker import URGENT_NICENESS, Worker, may_raise_priority

PATIENCE_S = 10.0


def test_an_error_is_raised_again_with_its_traceback() -> None:
    """If this fails, a dead driver leaves a run that looks merely slow."""

    def work(stop: threading.Event) -> None:
        raise ZeroDivisionError("in the thread")

    worker = Worker("doomed", work)
    worker.start()
    assert worker.join(PATIENCE_S)
    assert not worker.alive
    with pytest.raises(ZeroDivisionError, match="in the thread") as told:
        worker.check()
    assert "work" in [entry.name for entry in told.traceback]
    with pytest.raises(ZeroDivisionError):  # and not only the first time
        worker.check()


def test_even_an_exit_is_kept() -> None:
    """If this fails, a thread that calls sys.exit ends without a word."""

    def work(stop: threading.Event) -> None:
        raise SystemExit(3)

    worker = Worker("leaving", work)
    worker.start()
    assert worker.join(PATIENCE_S)
    with pytest.raises(SystemExit):
        worker.check()


def test_only_an_urgent_worker_asks_for_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the sampler competes with the drivers, or a user without the privilege cannot run."""
    asked: list[tuple[int, int]] = []

    def refuse(_which: int, thread: int, niceness: int) -> None:
        asked.append((thread, niceness))
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    for urgent in (False, True):
        threads: list[int] = []
        worker = Worker("one", lambda _stop, ids=threads: ids.append(threading.get_native_id()), urgent)
        worker.start()
        assert worker.join(PATIENCE_S)
        worker.check()
        assert asked == ([(threads[0], URGENT_NICENESS)] if urgent else [])
    assert not may_raise_priority()


def test_a_thread_that_does_not_stop_is_told() -> None:
    """If this fails, a hung driver is taken for a finished one."""
    release = threading.Event()
    worker = Worker("deaf", lambda _stop: (release.wait(PATIENCE_S), None)[1])
    worker.start()
    assert worker.join(0.01) is False
    release.set()
    assert worker.join(PATIENCE_S) is True


def test_the_thread_carries_its_name() -> None:
    """If this fails, a profile or a stack dump does not say which driver it shows."""
    names: list[str] = []
    worker = Worker("observer", lambda _stop: names.append(threading.current_thread().name))
    worker.start()
    worker.join(PATIENCE_S)
    assert names == ["observer"]


def test_cpu_time_grows_while_it_works_and_stays_afterwards() -> None:
    """If this fails, the report charges CPU time to the wrong driver, or to none."""
    burned, leave = threading.Event(), threading.Event()

    def work(stop: threading.Event) -> None:
        start = time.thread_time()
        while time.thread_time() - start < 0.02:
            pass
        burned.set()
        leave.wait(PATIENCE_S)

    worker = Worker("busy", work)
    assert worker.cpu_now_s() == 0.0
    worker.start()
    assert burned.wait(PATIENCE_S)
    running = worker.cpu_now_s()
    assert running >= 0.02
    leave.set()
    assert worker.join(PATIENCE_S)
    assert worker.cpu_now_s() == worker.cpu_s >= running
