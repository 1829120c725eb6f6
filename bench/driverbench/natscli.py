"""`nats bench` of the nats CLI: run as its users run it, its own report believed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.driverbench.broker import CONSUMER, STREAM, Broker
from bench.driverbench.errors import TurnFailed
from bench.driverbench.ours import PATIENCE_S, Spent
from bench.driverbench.stopwatch import Stopwatch
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import InfraError
from bench.setup.cache import cache_dir
from bench.setup.tools import NATS_CLI

_REPORT = re.compile(r"stats: ([\d,]+) msgs/sec")


def nats_binary() -> Path:
    cached = NATS_CLI.binary(cache_dir(os.environ))
    for path in (Path(sys.executable).with_name(NATS_CLI.name), cached):
        if path.exists():
            return path
    raise InfraError("the nats CLI is not there: run `python3 -m bench.setup --with nats`")


def cli_environ(endpoint: NatsEndpoint, home: str) -> dict[str, str]:
    """For a CLI that finds no context of the user's, only our server."""
    # The password goes by environment: a command line can be read by every user of the machine.
    login = {"NATS_URL": endpoint.url, "NATS_USER": endpoint.user, "NATS_PASSWORD": endpoint.password}
    return {"PATH": os.environ.get("PATH", ""), "HOME": home, "XDG_CONFIG_HOME": home, **login}


def reported_rate(output: str) -> float:
    found = _REPORT.search(output)
    if found is None:
        raise TurnFailed(f"nats bench gave no rate: {output[-200:]!r}")
    return float(found[1].replace(",", ""))


class NatsBench:
    """Runs `nats bench` against one broker, out of reach of the user's own contexts."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._binary = nats_binary()
        self._startup_cpu_s = 0.0

    def publish(self, mode: str, messages: int, size: int, *more: str) -> Spent:
        return self._run(["pub", mode, "driver.0", *more], messages, size)

    def fetch(self, messages: int, size: int, *more: str) -> Spent:
        with self._broker.reader("none"):
            return self._run(["fetch", "--acks=none", f"--consumer={CONSUMER}", *more], messages, size)

    def ordered(self, messages: int, size: int) -> Spent:
        return self._run(["ordered"], messages, size)

    def calibrate(self) -> None:
        """What starting and ending costs; it is taken off every turn, ours being counted without it too."""
        self._broker.empty_stream("memory")
        costs = [self._run(["pub", "async", "driver.0"], 1, 128).client_cpu_s for _ in range(3)]
        self._startup_cpu_s = min(costs)

    def _run(self, words: Sequence[str], messages: int, size: int) -> Spent:
        command = [str(self._binary), "bench", "js", *words, f"--stream={STREAM}"]
        command += [f"--msgs={messages}", f"--size={size}", "--no-progress"]
        watch = Stopwatch(self._broker.cpu_s)
        with tempfile.TemporaryDirectory(prefix="jetlag-nats-") as home:
            try:
                done = subprocess.run(
                    command,
                    env=cli_environ(self._broker.endpoint, home),
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise TurnFailed(f"nats bench js {words[0]} was not done after {PATIENCE_S:g} s") from None
        watch.stop()
        if done.returncode or "WARNING" in done.stderr:
            raise TurnFailed(f"nats bench js {' '.join(words)} failed: {done.stderr.strip()[-300:]}")
        cpu_s = watch.children_cpu_s - self._startup_cpu_s
        return Spent(messages / reported_rate(done.stdout), cpu_s, cpu_s, watch.server_cpu_s)
