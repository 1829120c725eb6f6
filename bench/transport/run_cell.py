"""Run one cell on a cluster: empty streams, all groups at once, and the same by `nats bench` if asked for."""

from __future__ import annotations

from typing import Any

from bench.infra.nats_cluster import NatsCluster
from bench.resources import service_meter
from bench.transport.cell import Cell
from bench.transport.crew import Crew
from bench.transport.outcome import CellOutcome, judge
from bench.transport.peer import PeerRates, run_peer
from bench.transport.streams import TransportAdmin, admin_of
from bench.verdict import RunInvalid

TIMEOUT_S = 240.0


def run_cell(
    cluster: NatsCluster, cell: Cell, with_peer: bool = False, peer_first: bool = False, **limits: Any
) -> CellOutcome:
    """Raises RunInvalid when a group's clients could not work at all; `limits` are the streams'."""
    with admin_of(cluster) as admin:
        peer = _peer(cluster, cell, admin) if with_peer and peer_first else None
        admin.make_all(cell, **limits)
        try:
            with Crew(cell, cluster.endpoints(), TIMEOUT_S) as crew:
                before_s = _cpu_s(cluster)
                crew.go()
                groups = crew.collect()
                after_s = _cpu_s(cluster)
            errors = [f"group {group['group']}: {group['error']}" for group in groups if "error" in group]
            if errors:
                raise RunInvalid(errors)
            states = [admin.state(name) for name in cell.streams()]
            placement = {name: admin.placement(name) for name in cell.streams()}
        finally:
            admin.delete_all(cell)
        if with_peer and peer is None:
            peer = _peer(cluster, cell, admin)
    return judge(
        cell,
        groups,
        (sum(messages for messages, _ in states), sum(size for _, size in states)),
        None if before_s is None or after_s is None else after_s - before_s,
        {"meta_leader": cluster.meta_leader(), "streams": placement},
        cluster.sync_interval,
        peer,
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
