"""What the servers of a cluster are told: each other's addresses, one secret, and how often to sync."""

from __future__ import annotations

from bench.infra.nats_cluster import local_cluster, seats
from bench.infra.nats_config import NatsConfig

ADDRESSES = [("n1", "127.0.0.1", 1001), ("n2", "127.0.0.1", 1002), ("n3", "127.0.0.1", 1003)]


def rendered(sync_interval: str | None = None) -> str:
    seat = seats(ADDRESSES, "jetlag", "127.0.0.1")[0]
    return NatsConfig("127.0.0.1", 1, 2, "/s", "u", "p", seat=seat, sync_interval=sync_interval).render()


def test_a_server_knows_the_others_and_not_itself():
    """Servers would not find each other, and each would wait for a leader for ever."""
    text = rendered()
    assert 'server_name: "n1"' in text
    assert 'listen: "127.0.0.1:1001"' in text
    assert "@127.0.0.1:1002" in text
    assert "@127.0.0.1:1003" in text
    assert "@127.0.0.1:1001" not in text


def test_all_share_one_secret_that_is_not_shown():
    """A stranger's server could join the cluster, or a log would show how."""
    made = seats(ADDRESSES, "jetlag", "127.0.0.1")
    assert len({seat.password for seat in made}) == 1
    assert made[0].password not in repr(made)


def test_the_sync_interval_is_the_servers_own_unless_asked_for():
    """Figures would come from a durability that the result does not tell."""
    assert "sync_interval" not in rendered()
    assert "sync_interval: always" in rendered("always")
    assert local_cluster().sync_interval == "server default (2m)"
    assert local_cluster("always").sync_interval == "always"


def test_a_single_server_stays_a_single_server():
    """The cases on one server would wait for two that never come."""
    text = NatsConfig("127.0.0.1", 1, 2, "/s", "u", "p").render()
    assert "cluster" not in text
    assert 'server_name: "jetlag"' in text
