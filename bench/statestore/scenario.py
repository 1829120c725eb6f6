"""Three scenarios: fresh start with small and with large tasks, and small tasks on a large state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil

from bench.infra.endpoint import NatsEndpoint
from bench.infra.family import family
from bench.infra.waiting import wait_until
from bench.statestore.figures import last_totals, measure, read_batches
from bench.statestore.load import Growth, Launch, Truth
from bench.statestore.outcome import WARM_BATCHES, ScenarioOutcome, outcome_of
from bench.statestore.sender import send_growth, send_launch
from bench.statestore.server_process import ServerProcess
from bench.statestore.settings import ServerSettings
from bench.statestore.streams import StateStoreStreams, read_endings, sink_options
from spark_jobs.statestore.names import ENDED

Show = Callable[[str], None]
_WITHIN_S = 900.0


@dataclass(frozen=True)
class Scenario:
    name: str
    workflows: int
    size: int
    grow_mb: int = 0
    #: After the backlog: a launch at a part of the speed that was seen, for so long. 0: none.
    paced_s: float = 0.0
    paced_share: float = 0.5
    server: ServerSettings = field(default_factory=lambda: ServerSettings(timeout_ms=20_000))


def run_scenario(nats: NatsEndpoint, scenario: Scenario, folder: Path, show: Show) -> ScenarioOutcome:
    with StateStoreStreams(nats) as streams, ServerProcess(nats, folder, scenario.server) as server:
        streams.make_all()
        return _Run(nats, streams, server, scenario, show).whole()


class _Run:
    def __init__(
        self,
        nats: NatsEndpoint,
        streams: StateStoreStreams,
        server: ServerProcess,
        scenario: Scenario,
        show: Show,
    ) -> None:
        self._nats, self._streams, self._server = nats, streams, server
        self._scenario, self._show = scenario, show
        self._options = sink_options(nats)

    def whole(self) -> ScenarioOutcome:
        scenario, server = self._scenario, self._server
        launch = Launch(scenario.workflows, scenario.size)
        if not scenario.grow_mb:
            send_launch(self._options, launch)  # a backlog: the sender takes no core from the server later
        server.start()
        server.wait_ready()
        truth, grown_until_ms = launch.truth, 0
        if scenario.grow_mb:
            truth += self._grow()
            grown_until_ms = time.time_ns() // 1_000_000
            send_launch(self._options, launch)
        self._wait("messages", truth.messages)
        paced_from_ms = paced_per_s = None
        if scenario.paced_s:
            full = [batch for batch in read_batches(server.folder) if batch.done_ms > grown_until_ms]
            seen = measure(full, WARM_BATCHES)
            assert seen is not None
            paced_from_ms = time.time_ns() // 1_000_000
            paced_per_s = seen.messages_per_s * scenario.paced_share
            truth += self._paced(paced_per_s)
        self._wait("ended", len(truth.workflows))
        memory_bytes = resident_bytes(server.pid)
        server.stop()
        return outcome_of(
            scenario.name,
            server.folder,
            truth,
            read_endings(self._nats, self._streams.message_count(ENDED)),
            server.audit(),
            load=launch.as_dict() | {"grow_mb": scenario.grow_mb},
            settings=asdict(scenario.server) | {"memory_bytes": memory_bytes},
            paced_from_ms=paced_from_ms,
            paced_per_s=paced_per_s,
            grown_until_ms=grown_until_ms,
        )

    def _grow(self) -> Truth:
        growth = Growth(self._scenario.grow_mb * 1_000_000)
        send_growth(self._options, growth, lambda wanted: self._wait("grown", wanted))
        return growth.truth

    def _paced(self, rate_per_s: float) -> Truth:
        scenario = self._scenario
        usual = Launch(1, scenario.size)
        workflows = max(1, round(rate_per_s * scenario.paced_s / usual.truth.messages))
        launch = replace(usual, workflows=workflows)
        send_launch(self._options, launch, rate_per_s)
        return launch.truth

    def _wait(self, name: str, wanted: int) -> None:
        def enough() -> bool:
            self._server.check()
            now = last_totals(self._server.folder).get(name, 0)
            self._show(f"statestore {self._scenario.name}: {name} {now:,} of {wanted:,}")
            return now >= wanted

        wait_until(enough, _WITHIN_S, f"{name} did not reach {wanted}", interval_s=0.5)


def resident_bytes(pid: int) -> int:
    """Of a process and all below it."""
    total = 0
    for one in family(pid):
        try:
            total += psutil.Process(one).memory_info().rss
        except psutil.Error:
            continue
    return total
