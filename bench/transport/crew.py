"""The group processes of one cell: started under a leash, set off together, their results collected."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.leashed import Leashed
from bench.infra.logtail import tail_of
from bench.infra.waiting import wait_until
from bench.transport.cell import Cell
from bench.transport.group import PASSWORD_VARIABLE, Spec
from bench.verdict import RunInvalid

READY_TIMEOUT_S = 60.0
#: From the signal to the first message: every process has seen it by then.
LEAD_NS = 200_000_000
ROOT = Path(__file__).parents[2]


class Crew:
    """One process a group; group g connects to server g modulo the number of servers."""

    def __init__(self, cell: Cell, endpoints: Sequence[NatsEndpoint], timeout_s: float) -> None:
        self.cell = cell
        self._endpoints = endpoints
        self._timeout_s = timeout_s
        self._stack = ExitStack()
        self._leashes: list[Leashed] = []
        self._start_ns = 0

    def __enter__(self) -> Crew:
        try:
            inbox = secrets.token_hex(4)
            for group in range(self.cell.groups):
                self._launch(group, inbox)
            for leash in self._leashes:
                wait_until(
                    lambda leash=leash: self._is_there(leash, "ready"),  # type: ignore[misc]
                    READY_TIMEOUT_S,
                    "the clients of a group are not ready",
                    abort_on=(ServiceError,),
                )
            self._raise_errors()  # told now: the others must not run for hours without it
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _launch(self, group: int, inbox: str) -> None:
        endpoint = self._endpoints[group % len(self._endpoints)]
        leash = Leashed("transport")
        self._stack.callback(leash.close)
        spec = Spec(self.cell, group, endpoint.host, endpoint.port, endpoint.user, inbox, self._timeout_s)
        (leash.folder / "spec.json").write_text(json.dumps(spec.as_dict()))
        command = [sys.executable, "-m", "bench.transport.group", str(leash.folder)]
        environment = {PASSWORD_VARIABLE: endpoint.password, "PYTHONPATH": str(ROOT)}
        leash.start(command, leash.folder / "log", environment)
        self._leashes.append(leash)

    def go(self) -> int:
        """Set all off together; returns the start in monotonic ns."""
        self._start_ns = time.monotonic_ns() + LEAD_NS
        for leash in self._leashes:
            partial = leash.folder / "go.partial"
            partial.write_text(str(self._start_ns))
            partial.replace(leash.folder / "go")
        return self._start_ns

    def done(self) -> bool:
        return all(self._is_there(leash, "result.json") for leash in self._leashes)

    def collect(self, tick: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
        """The groups' results, waited for; `tick` is called meanwhile.

        RunInvalid as soon as the clients of one group could not go on.
        """
        deadline = time.monotonic() + self._timeout_s + READY_TIMEOUT_S
        while not self.done():
            if time.monotonic() > deadline:
                raise ServiceError("the clients of a group did not end in time", self._tails())
            self._raise_errors()
            tick()
            time.sleep(0.02)
        self._raise_errors()
        return self._results()

    def _results(self) -> list[dict[str, Any]]:
        paths = [leash.folder / "result.json" for leash in self._leashes]
        return [json.loads(path.read_text()) for path in paths if path.exists()]

    def _raise_errors(self) -> None:
        errors = [f"group {one['group']}: {one['error']}" for one in self._results() if "error" in one]
        if errors:
            raise RunInvalid(errors)

    def progress(self, group: int) -> list[dict[str, Any]]:
        """The seconds of a group so far, in open loop."""
        path = self._leashes[group].folder / "progress.jsonl"
        if not path.exists():
            return []
        lines = path.read_text().split("\n")[:-1]  # the last is being written
        return [json.loads(line) for line in lines]

    def _is_there(self, leash: Leashed, name: str) -> bool:
        if (leash.folder / name).exists() or (leash.folder / "result.json").exists():
            return True
        if not leash.running() and not (leash.folder / "result.json").exists():
            raise ServiceError("the clients of a group have died", tail_of(leash.folder / "log", 20))
        return False

    def _tails(self) -> str:
        return "\n".join(tail_of(leash.folder / "log", 5) for leash in self._leashes)
