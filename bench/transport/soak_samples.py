"""What a soak looks at, every few seconds: the clients' pace; the servers' memory, disk, leaders and logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.infra.local_nats import LocalNats
from bench.infra.nats_cluster import NatsCluster
from bench.resources import service_meter
from bench.transport.cell import Cell
from bench.transport.crew import Crew
from bench.transport.streams import TransportAdmin

#: A server's log line that tells of trouble.
_TROUBLE = re.compile(r"\[(ERR|FTL)\]")
_LOG_LINES = 2000


@dataclass(frozen=True)
class SoakSample:
    t_s: float
    acked: int
    received: int
    #: The worst second of the interval, over all groups.
    p50_ms: float | None
    p99_ms: float | None
    rss_bytes: int | None
    disk_bytes: int | None
    stored_bytes: int
    leaders: dict[str, str | None]
    replica_lag: int
    server_errors: int


class SoakSampler:
    def __init__(self, cluster: NatsCluster, cell: Cell, crew: Crew, admin: TransportAdmin) -> None:
        self._cluster, self._cell, self._crew, self._admin = cluster, cell, crew, admin
        self._meters = {name: service_meter(node) for name, node in cluster.nodes.items()}
        self._read = [0] * cell.groups
        self._acked = [0] * cell.groups
        self._received = [0] * cell.groups
        #: While the servers looked for each other they logged every attempt: no trouble of the soak's.
        self._known = set(self._log_troubles())
        self._troubles: dict[str, None] = {}

    def take(self, t_s: float) -> SoakSample:
        p50s: list[float] = []
        p99s: list[float] = []
        for group in range(self._cell.groups):
            seconds = self._crew.progress(group)
            for second in seconds[self._read[group] :]:
                p50s += [second["p50_us"] / 1000] if second["p50_us"] is not None else []
                p99s += [second["p99_us"] / 1000] if second["p99_us"] is not None else []
            self._read[group] = len(seconds)
            if seconds:
                self._acked[group] = seconds[-1]["acked"]
                self._received[group] = seconds[-1]["received_min"]
        placements = {name: self._admin.placement(name) for name in self._cell.streams()}
        return SoakSample(
            t_s=round(t_s, 1),
            acked=sum(self._acked),
            received=sum(self._received),
            p50_ms=_middle(p50s),
            p99_ms=_middle(p99s),
            rss_bytes=self._rss_bytes(),
            disk_bytes=self.disk_bytes(),
            stored_bytes=sum(self._admin.state(name)[1] for name in placements),
            leaders={name: placement["leader"] for name, placement in placements.items()},
            replica_lag=max(
                (peer["lag"] for placement in placements.values() for peer in placement["replicas"].values()),
                default=0,
            ),
            server_errors=len(self.troubles()),
        )

    def _rss_bytes(self) -> int | None:
        usages = [meter() if meter is not None else None for meter in self._meters.values()]
        known = [usage.rss_bytes for usage in usages if usage is not None]
        return sum(known) if len(known) == len(usages) else None

    def disk_bytes(self) -> int | None:
        """None where the servers' folders are not ours to look into (containers)."""
        nodes = self._cluster.nodes.values()
        sizes = [node.stored_bytes() for node in nodes if isinstance(node, LocalNats)]
        return sum(sizes) if len(sizes) == len(nodes) else None

    def troubles(self) -> list[str]:
        """Errors in the servers' logs since the start; kept, since a log's end moves on."""
        self._troubles.update(dict.fromkeys(line for line in self._log_troubles() if line not in self._known))
        return list(self._troubles)

    def _log_troubles(self) -> list[str]:
        return [
            f"{name}: {line[:200]}"
            for name, node in self._cluster.nodes.items()
            for line in node.log_tail(_LOG_LINES).splitlines()
            if _TROUBLE.search(line)
        ]


def _middle(values: Sequence[float]) -> float | None:
    """The median second: one slow second is the machine's, a slow interval is a finding."""
    ordered = sorted(values)
    return round(ordered[len(ordered) // 2], 3) if ordered else None


def leader_changes(samples: Sequence[SoakSample]) -> list[dict[str, Any]]:
    """Each time a stream was led by another server than at the sample before."""
    changes: list[dict[str, Any]] = []
    for before, after in pairwise(samples):
        for stream, leader in after.leaders.items():
            if leader != before.leaders.get(stream):
                changes.append(
                    {"t_s": after.t_s, "stream": stream, "from": before.leaders.get(stream), "to": leader}
                )
    return changes
