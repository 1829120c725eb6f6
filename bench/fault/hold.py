"""How a driver's thread is frozen or made to forget: it is no process that a signal could reach.

Frozen, it does nothing until it is let go, like a process after SIGSTOP. Crashed, it loses its connections
and all that it held in memory, and begins anew when it is let go, like a process after SIGKILL and a restart.
What it has counted for the ledger stays: that is the measurement, not the driver's memory.
"""

from __future__ import annotations

import threading

_LOOK_S = 0.01


class Crashed(Exception):  # noqa: N818 - the name says what happened
    """Raised inside the driver's loop."""


class Hold:
    def __init__(self) -> None:
        self._frozen = False
        self._crash = False

    def freeze(self) -> None:
        self._frozen = True

    def crash(self) -> None:
        self._frozen = self._crash = True

    def let_go(self) -> None:
        self._frozen = False

    def check(self, stop: threading.Event) -> None:
        """At the top of the driver's loop: returns at once unless something is asked."""
        if not self._frozen and not self._crash:
            return
        if self._crash:
            self._crash = False
            raise Crashed("killed by a fault")
        self.wait(stop)

    def wait(self, stop: threading.Event) -> None:
        """Until it is let go."""
        while self._frozen and not stop.wait(_LOOK_S):
            pass
