"""A driver's thread: named, its CPU time known, and unable to die in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class StopRequested(Exception):  # noqa: N818 - not an error
    """Raised inside a worker to leave its loop."""


class Worker:
    """Runs `work(stop)` in a thread; what it raises is kept and raised again by `check`."""

    def __init__(self, name: str, work: Callable[[threading.Event], None]) -> None:
        self.name = name
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
        self._clock_id = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self._work(self.stop)
        except StopRequested:
            pass
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
