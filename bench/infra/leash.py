"""A supervisor process that outlives us just long enough to clean up after us.

Started as `python -I leash.py …`, standard library only. It owns a temp folder and at most one service
process, and takes orders as JSON lines over a socket. When that socket closes, because we stopped the service
or because we died in any way (kill -9 too), it ends the service, runs the clean-up command if one was given,
removes the folder and exits. Stopping and crashing take the same path, so the path is tested by every run.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from types import FrameType
from typing import Any

POLL_S = 0.2
ON_END_TIMEOUT_S = 60.0
PR_SET_PDEATHSIG = 1


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leash.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--fd", type=int, required=True, help="the socket that orders come from")
    parser.add_argument("--parent", type=int, required=True, help="the process whose death ends everything")
    parser.add_argument("--prefix", required=True, help="how the temp folder's name begins")
    parser.add_argument("--grace-s", type=float, default=10.0, help="from SIGTERM to SIGKILL")
    options = parser.parse_args(arguments)
    if options.fd < 3 or options.parent < 1 or options.grace_s < 0:
        parser.error("--fd, --parent and --grace-s must be an open descriptor, a process id and 0 or more")
    if not options.prefix.startswith("jetlag-") or "/" in options.prefix:
        parser.error("--prefix must begin with jetlag- and hold no slash")
    return options


def _die_with_leash() -> None:
    """In the new child, before exec: should the leash itself be killed, the kernel ends the service."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


_LIBC = ctypes.CDLL(None)  # loaded before any fork: loading after it can deadlock


class Leash:
    def __init__(self, orders: socket.socket, parent: int, folder: str, grace_s: float) -> None:
        self._orders = orders
        self._parent = parent
        self._folder = folder
        self._grace_s = grace_s
        self._child: subprocess.Popen[bytes] | None = None
        self._on_end: list[str] | None = None
        self._asked_to_end = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._end_soon)
        self._answer({"folder": self._folder})
        pending = b""
        while not self._asked_to_end and os.getppid() == self._parent:
            # The parent's death closes the socket, unless a fork of the parent still holds the other end:
            # that is why the loop also looks at getppid, five times a second.
            readable, _, _ = select.select([self._orders], [], [], POLL_S)
            if self._child is not None:
                self._child.poll()  # reap it, so that no zombie stays
            if not readable:
                continue
            chunk = self._receive()
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                self._answer(self._obey(json.loads(line)))

    def end(self) -> None:
        """Leave nothing: process, then what the clean-up command removes, then the folder."""
        self._end_child()
        if self._on_end:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    self._on_end,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=ON_END_TIMEOUT_S,
                    check=False,
                )
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_soon(self, _signum: int, _frame: FrameType | None) -> None:
        self._asked_to_end = True

    def _receive(self) -> bytes:
        try:
            return self._orders.recv(65536)
        except ConnectionError:
            return b""

    def _answer(self, answer: dict[str, Any]) -> None:
        try:
            self._orders.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            self._asked_to_end = True

    def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["do"]:
            case "start":
                return self._start(order)
            case "signal":
                return self._signal(order["signal"])
            case "poll":
                return self._state()
            case "on_end":
                self._on_end = order["argv"]
                return {}
        return {"error": f"unknown order {order['do']}"}

    def _start(self, order: dict[str, Any]) -> dict[str, Any]:
        if self._child is not None and self._child.poll() is None:
            return {"error": "it runs already"}
        try:
            with open(order["log"], "ab") as log:  # noqa: PTH123 - a plain string that came over the socket
                self._child = subprocess.Popen(
                    order["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    env={**os.environ, **order.get("env", {})},
                    start_new_session=True,  # a Ctrl-C in the terminal must reach the tests only
                    preexec_fn=_die_with_leash,  # safe: this process has one thread
                )
        except OSError as error:
            return {"error": f"{order['argv'][0]} cannot be started: {error.strerror or error}"}
        return {"pid": self._child.pid}

    def _signal(self, signum: int) -> dict[str, Any]:
        if self._child is None or self._child.poll() is not None:
            return {"error": "it does not run"}
        self._child.send_signal(signum)
        if signum == signal.SIGKILL:
            self._child.wait()
        return self._state()

    def _state(self) -> dict[str, Any]:
        status = self._child.poll() if self._child is not None else None
        return {"running": self._child is not None and status is None, "status": status}

    def _end_child(self) -> None:
        if self._child is None or self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGTERM)
        # A paused process would never see the SIGTERM, and its paused children would outlive it.
        os.killpg(self._child.pid, signal.SIGCONT)
        deadline_s = time.monotonic() + self._grace_s
        while self._child.poll() is None and time.monotonic() < deadline_s:
            time.sleep(0.02)
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()


def main() -> None:
    options = parse(sys.argv[1:])
    # The terminal's signals are for the tests; the socket tells us when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Made here and not by the parent: whoever makes the folder must be the one that surely removes it.
    folder = tempfile.mkdtemp(prefix=options.prefix)
    leash = Leash(socket.socket(fileno=options.fd), options.parent, folder, options.grace_s)
    try:
        leash.run()
    finally:
        leash.end()


if __name__ == "__main__":
    main()
