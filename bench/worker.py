"""A driver's thread: named, its CPU time known, and unable to die in silence."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

#: Before the system under test, which takes every core it can get: a driver that waits for a core would
#: report that wait as the pipeline's.
URGENT_NICENESS = -10


def raise_priority() -> bool:
    """For this thread alone; False where the system does not allow it (it takes a privilege)."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), URGENT_NICENESS)
    except OSError:
        return False
    return True


def may_raise_priority() -> bool:
    """Tried out in a thread that ends with it."""
    allowed: list[bool] = []
    trial = threading.Thread(target=lambda: allowed.append(raise_priority()))
    trial.start()
    trial.join()
    return allowed == [True]


class Worker:
    """Runs `work(stop)` in a thread; what it raises is kept and raised again by `check`.

    An urgent one comes before others where the system allows that: it keeps a schedule or stamps arrivals.
    """

    def __init__(self, name: str, work: Callable[[threading.Event], None], urgent: bool = False) -> None:
        self.name = name
        self._urgent = urgent
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.cpu_s = 0.0
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.started = False
        self._clock_id: int | None = None

    def start(self) -> None:
        self.started = True
        self._thread.start()

    def _run(self) -> None:
        if self._urgent:
            raise_priority()
        self._clock_id = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self._work(self.stop)
        except BaseException as error:
            self.error = error
        finally:
            self.cpu_s = time.thread_time()
            self._clock_id = None

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def cpu_now_s(self) -> float:
        """CPU seconds this thread has used so far."""
        clock_id = self._clock_id
        if clock_id is not None and self._thread.is_alive():
            try:
                return time.clock_gettime(clock_id)
            except OSError:
                pass  # it ended between the two lines
        return self.cpu_s

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def join(self, timeout_s: float) -> bool:
        """Ask the thread to stop and wait for it; False if it did not in time."""
        self.stop.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
