"""Who leads a stream in a cluster: another server than the one that the clients are connected to."""

from __future__ import annotations

from bench.infra.errors import ServiceError
from bench.infra.nats_cluster import NatsCluster, Node
from bench.infra.waiting import wait_until
from bench.stream_admin import StreamAdmin

_TRIES = 12
_ELECTED_S = 10.0


def leader_away_from(cluster: NatsCluster, home: Node, stream: str) -> str:
    """The leader's name. Where `home` leads, it is asked to step down: its end would be the clients' too."""
    names = {id(node): name for name, node in cluster.nodes.items()}
    home_name = names[id(home)]
    with StreamAdmin(home.endpoint) as admin:

        def leader() -> str:
            info = admin.stream(stream)
            return (info.cluster.leader or "") if info is not None and info.cluster is not None else ""

        for _ in range(_TRIES):
            wait_until(lambda: bool(leader()), _ELECTED_S, f"{stream} has no leader")
            found = leader()
            if found and found != home_name:
                return found
            admin.step_down(stream)
    raise ServiceError(f"{stream} is always led by {home_name}, to which the clients are connected")
