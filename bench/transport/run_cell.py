"""Run one cell on a cluster: empty streams, all groups at once, and the same by `nats bench` if asked for."""

from __future__ import annotations

from typing import Any

from bench.infra.nats_cluster import NatsCluster
from bench.resources import service_meter
from bench.transport.cell import Cell
from bench.transport.crew import Crew
from bench.transport.outcome import CellOutcome, Turn, judge
from bench.transport.peer import PeerRates, run_peer
from bench.transport.streams import TransportAdmin, admin_of

TIMEOUT_S = 240.0


def run_cell(cluster: NatsCluster, cell: Cell, peer_rounds: int = 0, **limits: Any) -> CellOutcome:
    """Raises RunInvalid when a group's clients could not work; `limits` are the streams'.

    With `peer_rounds`, ours and the peer take turns that often, each first in every other round: what the
    machine does to one it then does to both.
    """
    turns: list[Turn] = []
    peers: list[PeerRates] = []
    with admin_of(cluster) as admin:
        for number in range(max(1, peer_rounds)):
            if peer_rounds and number % 2:
                peers.append(_peer(cluster, cell, admin))
            turns.append(_turn(cluster, cell, admin, limits))
            if peer_rounds and not number % 2:
                peers.append(_peer(cluster, cell, admin))
    return judge(cell, turns, cluster.sync_interval, peers)


def _turn(cluster: NatsCluster, cell: Cell, admin: TransportAdmin, limits: dict[str, Any]) -> Turn:
    admin.make_all(cell, **limits)
    try:
        with Crew(cell, cluster.endpoints(), TIMEOUT_S) as crew:
            before_s = _cpu_s(cluster)
            crew.go()
            groups = crew.collect()
            after_s = _cpu_s(cluster)
        states = [admin.state(name) for name in cell.streams()]
        placement = {name: admin.placement(name) for name in cell.streams()}
    finally:
        admin.delete_all(cell)
    return Turn(
        groups,
        sum(messages for messages, _ in states),
        sum(size for _, size in states),
        None if before_s is None or after_s is None else after_s - before_s,
        {"meta_leader": cluster.meta_leader(), "streams": placement},
    )


def _peer(cluster: NatsCluster, cell: Cell, admin: TransportAdmin) -> PeerRates:
    admin.make_all(cell)
    try:
        return run_peer(cell, cluster.endpoints(), admin, TIMEOUT_S)
    finally:
        admin.delete_all(cell)


def _cpu_s(cluster: NatsCluster) -> float | None:
    meters = [service_meter(node) for node in cluster.nodes.values()]
    usages = [meter() if meter is not None else None for meter in meters]
    return None if any(usage is None for usage in usages) else sum(usage.cpu_s for usage in usages if usage)
