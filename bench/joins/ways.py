"""Ways to do one join, side by side over the same backlog: why each scenario is joined as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.joins.scenarios import Size, enrichment, high_dimensional, iot
from bench.joins.spark_engine import Change
from bench.joins.workload import Workload
from spark_jobs.join_query import JoinOrder

#: As good as for ever: ten years of event time.
_NEVER_US = 315_360_000_000_000


@dataclass(frozen=True)
class Way:
    name: str
    make: Callable[[Size], Workload]
    change: Change | None = None
    chosen: bool = False


def _hits_only(size: Size) -> Workload:
    """Both ways emit the same rows then, at once."""
    return replace(enrichment(size), emission="smart", require=("user_profiles",))


def _as_a_stream(order: JoinOrder) -> JoinOrder:
    """The dimension as a stream whose rows stay in the state for ever."""
    lookups = tuple(replace(one, ttl_us=_NEVER_US, wait_us=_NEVER_US) for one in order.lookups)
    return replace(order, lookups=lookups)


def _broadcast(order: JoinOrder) -> JoinOrder:
    return replace(order, lookups=tuple(replace(one, broadcast=True) for one in order.lookups))


WAYS = (
    Way("dimension: table in the workers", _hits_only, chosen=True),
    Way("dimension: broadcast, stream-static", _hits_only, _broadcast),
    Way("dimension: stream-stream, state for ever", _hits_only, _as_a_stream),
    Way("five dimensions: tables in the workers", high_dimensional, chosen=True),
    Way("five dimensions: broadcast, stream-static", high_dimensional, _broadcast),
    Way("rolling TTL: stream-stream by event time", iot, chosen=True),
)
