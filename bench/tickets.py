"""The number in a publish's reply subject, and which messages an answer to it is about.

Neighbours share one. A reply subject that nats-server has not met yet costs it a search of its subscriptions
and two entries in its caches: 5.2 µs of CPU a message on file storage and 3.7 in memory became 4.7 and 3.2
(`make bench-driver`'s publishing turns before and after, two cores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.wire.frames import Ints

#: Messages to a ticket; no more than it takes, since a refusal leaves this many in doubt.
GROUP = 32
#: The heartbeats' ticket.
BEAT = 0


@dataclass(frozen=True)
class Tickets:
    """Of messages 1 to `total`: first one for each group of neighbours, then one for each by itself."""

    total: int

    @property
    def groups(self) -> int:
        return -(-self.total // GROUP)

    @property
    def last(self) -> int:
        return self.groups + self.total

    @property
    def width(self) -> int:
        """Digits of the longest."""
        return len(str(self.last))

    def shared(self, seqs: Ints) -> Ints:
        tickets: Ints = (seqs + (GROUP - 1)) // GROUP
        return tickets

    def own(self, seqs: Ints) -> Ints:
        return seqs + self.groups

    def members(self, group: int) -> Ints:
        first = (group - 1) * GROUP + 1
        return np.arange(first, min(first + GROUP, self.total + 1), dtype=np.int64)
