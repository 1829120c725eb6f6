"""The four scenarios and the baseline, each at any size: what joins what, at which designed hit rate.

| scenario | facts | joined to | hit rate |
| --- | --- | --- | --- |
| `enrichment` | user events | profiles, which never expire | 95 % |
| `multi-stream` | orders | payments and shipments: streams of their own, each with its TTL | 85 % |
| `high-dimensional` | page views | five dimensions | 90 % |
| `iot` | sensor readings | the device's last status, good for five minutes | 75 % |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bench.joins.workload import MINUTE_US, Lookup, Ttl, Workload

ROLLING_TTL_US = 5 * MINUTE_US
DIMENSIONS = ("users", "products", "stores", "campaigns", "devices")


@dataclass(frozen=True)
class Size:
    facts: int
    #: Rows of a dimension, or devices.
    keys: int
    #: A paired row is up to so many facts away from its fact.
    spread: int = 1_024
    #: Facts a second of event time; a rolling TTL has a pace of its own.
    facts_per_s: int = 10_000
    seed: int = 1


def baseline(size: Size) -> Workload:
    """One topic, no join."""
    return Workload("user_events", (), size.facts, seed=size.seed, keys=size.keys)


def enrichment(size: Size) -> Workload:
    lookups = (Lookup("user_profiles", "dimension"),)
    ttl = Ttl(dimensions=("user_profiles",))
    return Workload("user_events", lookups, size.facts, 0.95, size.seed, ttl, keys=size.keys)


def multi_stream(size: Size) -> Workload:
    """Smart: an order waits for its payment and its shipment, and comes out complete or not at all."""
    step_us = 1_000_000 // size.facts_per_s
    reach_us = size.spread * step_us
    # Payments are good for less than they may lie before their order: some expire.
    ttl = Ttl(reach_us * 11 // 10, (("payments", reach_us * 19 // 20),))
    lookups = (Lookup("payments", "paired"), Lookup("shipments", "paired"))
    return Workload(
        "orders",
        lookups,
        size.facts,
        0.85,
        size.seed,
        ttl,
        "smart",
        require=("payments", "shipments"),
        step_us=step_us,
        spread=size.spread,
    )


def high_dimensional(size: Size) -> Workload:
    lookups = tuple(Lookup(name, "dimension") for name in DIMENSIONS)
    ttl = Ttl(dimensions=DIMENSIONS)
    return Workload("page_views", lookups, size.facts, 0.9, size.seed, ttl, keys=size.keys)


def iot(size: Size) -> Workload:
    """Two whole turns of every device's status pass: event time runs as fast as that needs."""
    refresh_us = int(ROLLING_TTL_US / 0.75)
    step_us = max(10, 2 * refresh_us // size.facts)
    lookups = (Lookup("device_status", "rolling"),)
    return Workload(
        "readings", lookups, size.facts, 0.75, size.seed, Ttl(ROLLING_TTL_US), step_us=step_us, keys=size.keys
    )


SCENARIOS: Mapping[str, Callable[[Size], Workload]] = {
    "enrichment": enrichment,
    "multi-stream": multi_stream,
    "high-dimensional": high_dimensional,
    "iot": iot,
}

#: How long an order waits, beside waiting for everything, which is `multi-stream` itself.
EMISSIONS: Mapping[str, Callable[[Size], Workload]] = {
    "immediate": lambda size: replace(multi_stream(size), emission="immediate", require=()),
    "smart, payments required": lambda size: replace(multi_stream(size), require=("payments",)),
}
