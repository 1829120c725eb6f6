"""The same cell by `nats bench`: a reading and a publishing process a group, their own reports believed."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

from bench.driverbench.errors import TurnFailed
from bench.driverbench.natscli import cli_environ, nats_binary
from bench.infra.endpoint import NatsEndpoint
from bench.infra.waiting import wait_until
from bench.transport.cell import Cell
from bench.transport.streams import TransportAdmin

_CLIENT = re.compile(r"\[\d+\] ([\d,]+) msgs/sec")
_AGGREGATE = re.compile(r"stats: ([\d,]+) msgs/sec")
SUBSCRIBED_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class PeerRates:
    """Messages per second, as the CLI reports them."""

    #: Of each publisher, over all groups.
    publishers: tuple[float, ...]
    #: Of each subscriber, over all groups.
    subscribers: tuple[float, ...]
    #: Sum over the groups of what each publishing process says it reached.
    published_per_s: float


def _text_file() -> IO[str]:
    return tempfile.TemporaryFile("w+")


class _Process:
    """One run of the CLI, ended with the cell whatever happens."""

    def __init__(self, stack: ExitStack, endpoint: NatsEndpoint, words: Sequence[str]) -> None:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="jetlag-nats-"))
        self._words = " ".join(words[:3])
        # To files, not pipes: a process that nobody reads from would stop when its pipe is full.
        self._output: IO[str] = stack.enter_context(_text_file())
        self._errors: IO[str] = stack.enter_context(_text_file())
        self._process = subprocess.Popen(
            [str(nats_binary()), "bench", *words],
            env=cli_environ(endpoint, home),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            text=True,
        )
        stack.callback(self._end)

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def report(self, deadline: float) -> str:
        try:
            code = self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TurnFailed(f"nats bench {self._words} was not done in time") from None
        self._output.seek(0)
        self._errors.seek(0)
        output, errors = self._output.read(), self._errors.read()
        if code or "WARNING" in errors:
            raise TurnFailed(f"nats bench {self._words} failed: {errors.strip()[-300:]}")
        return output


def run_peer(
    cell: Cell, endpoints: Sequence[NatsEndpoint], admin: TransportAdmin, timeout_s: float
) -> PeerRates:
    """Streams must be there and empty."""
    common = [f"--msgs={cell.messages}", f"--size={cell.size}", "--no-progress"]
    with ExitStack() as stack:
        readers = [
            _Process(
                stack,
                endpoints[group % len(endpoints)],
                [
                    *("js", "ordered", f"--filter={cell.subject(group)}", f"--stream={cell.stream(group)}"),
                    *(f"--clients={cell.subscribers}", *common),
                ],
            )
            for group in range(cell.groups)
        ]
        wait_until(
            lambda: _consumers(admin, cell) >= cell.groups * cell.subscribers,
            SUBSCRIBED_TIMEOUT_S,
            "the subscribers of nats bench are not there",
        )
        writers = [
            _Process(
                stack,
                endpoints[group % len(endpoints)],
                [
                    *("js", "pub", cell.mode, cell.subject(group), f"--stream={cell.stream(group)}"),
                    *([] if cell.mode == "sync" else [f"--batch={cell.window}"]),
                    *(f"--clients={cell.publishers}", *common),
                ],
            )
            for group in range(cell.groups)
        ]
        deadline = time.monotonic() + timeout_s
        written = [process.report(deadline) for process in writers]
        read = [process.report(deadline) for process in readers]
    return PeerRates(
        tuple(rate for report in written for rate in client_rates(report)),
        tuple(rate for report in read for rate in client_rates(report)),
        sum(aggregate_rate(report) for report in written),
    )


def _consumers(admin: TransportAdmin, cell: Cell) -> int:
    infos = [admin.stream(name) for name in cell.streams()]
    return sum(info.state.consumer_count for info in infos if info is not None)


def client_rates(report: str) -> list[float]:
    """One a client; with a single client the CLI prints the aggregate only."""
    found = [float(text.replace(",", "")) for text in _CLIENT.findall(report)]
    return found or [aggregate_rate(report)]


def aggregate_rate(report: str) -> float:
    found = _AGGREGATE.search(report)
    if found is None:
        raise TurnFailed(f"nats bench gave no rate: {report[-200:]!r}")
    return float(found[1].replace(",", ""))
