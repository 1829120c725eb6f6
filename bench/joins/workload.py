"""What is published and how it must join: topics, TTLs, emission, and the designed hit rate. Pure values.

A fact is joined to at most one row of each other topic, its *lookups*:

- `dimension`: a table that never expires, published before the facts;
- `paired`: events of their own, one for each fact, some before it, some after it, some too late, some never;
- `rolling`: a status that each device sends anew every so often and that is good for its TTL only.

Times here are event times in µs. They are a pure function of a row's number, so that an hour of TTLs can be
played in a minute; latency goes by the schedule, not by them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["dimension", "paired", "rolling"]
Emission = Literal["immediate", "smart"]

MINUTE_US = 60_000_000
#: The event time of the first fact.
ZERO_US = 1_767_225_600_000_000
#: Rows that end a topic whose rows expire: a day ahead, they move the watermark past everything.
CLOSING = 2
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True)
class Ttl:
    """How long a row may be joined: by default, by topic, or for ever."""

    default_us: int = 5 * MINUTE_US
    overrides: tuple[tuple[str, int], ...] = ()
    dimensions: tuple[str, ...] = ()

    def of(self, topic: str) -> int | None:
        """None is for ever."""
        return None if topic in self.dimensions else dict(self.overrides).get(topic, self.default_us)


@dataclass(frozen=True)
class Lookup:
    topic: str
    kind: Kind


@dataclass(frozen=True)
class Workload:
    fact: str
    lookups: tuple[Lookup, ...]
    facts: int
    hit_rate: float = 1.0
    seed: int = 1
    ttl: Ttl = field(default_factory=Ttl)
    emission: Emission = "immediate"
    #: With emission smart: a fact waits for these, for its own TTL; the others it takes as it finds them.
    require: tuple[str, ...] = ()
    #: Event time from one fact to the next.
    step_us: int = 100
    #: Rows of a dimension; devices of a rolling topic.
    keys: int = 1_000
    #: A paired row lies up to this many facts away from its fact; a power of two.
    spread: int = 1_024
    payload_bytes: int = 256

    def __post_init__(self) -> None:
        names = self.topics
        if len(set(names)) != len(names) or not all(_TOPIC.fullmatch(name) for name in names):
            raise ValueError(
                f"topics {', '.join(names)}: wanted different names of letters, digits, '-' and '_'"
            )
        if not 0 < self.hit_rate <= 1:
            raise ValueError(f"hit rate {self.hit_rate:g}: wanted more than 0, at most 1")
        if self.facts < 1 or self.step_us < 10 or self.keys < 1:
            raise ValueError("wanted at least one fact, one key and 10 µs between facts")
        if self.spread & (self.spread - 1) or self.spread < 2:
            raise ValueError(f"spread {self.spread}: wanted a power of two")
        for lookup in self.lookups:
            expires = self.ttl.of(lookup.topic) is not None
            if expires == (lookup.kind == "dimension"):
                raise ValueError(f"topic {lookup.topic}: a dimension never expires, everything else does")
        if len({lookup.kind for lookup in self.lookups}) > 1:
            raise ValueError("topics of different kinds: their hit rates could not be designed together")
        if unknown := set(self.require) - {lookup.topic for lookup in self.lookups}:
            raise ValueError(f"require {', '.join(sorted(unknown))}: no such topic to join")
        if self.emission == "smart" and not self.require:
            raise ValueError("emission smart: say what is required")

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.fact, *(lookup.topic for lookup in self.lookups))

    @property
    def wait_us(self) -> int:
        """How long a fact waits for what it requires."""
        return self.ttl.of(self.fact) or 0

    @property
    def streaming(self) -> bool:
        """Whether the engine must keep state: something else than a dimension is joined."""
        return any(lookup.kind != "dimension" for lookup in self.lookups)

    def waits_for(self, lookup: Lookup) -> bool:
        return self.emission == "smart" and lookup.topic in self.require

    def reach_us(self, lookup: Lookup) -> tuple[int, int]:
        """How long before and after a fact a lookup may lie to be its match."""
        ttl = self.ttl.of(lookup.topic)
        assert ttl is not None, "a dimension matches at any time"
        after = self.wait_us if lookup.kind == "paired" and self.waits_for(lookup) else 0
        return ttl, after
