"""What became of every published message: acknowledged, refused, or not answered yet.

Answers come by ticket (see tickets.py). A group is acknowledged when as many acknowledgements have come as it
has members; until then nothing is said of any of them, for which ones were answered is not known. In what
order answers come is not relied on: a leader that dies swallows some messages, and its successor acknowledges
those behind them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bench.tickets import BEAT, GROUP, Tickets
from bench.wire.errors import WireError
from bench.wire.frames import Flags, Ints
from bench.wire.pubacks import Answers, Nack

_UNANSWERED, _ACKED, _REFUSED = 0, 1, 2
#: No stream listens (a leader is being elected, a server restarts), or it has too many waiting already: worth
#: another try. The last is JetStream's own number for a 429.
PASSING = (503, 429, 10167)


@dataclass
class OpenGroup:
    """A group that has been answered in part, or not by acknowledgements alone."""

    number: int
    #: Where in the stream its acknowledged members are: the stream knows which they are.
    stored_at: list[int] = field(default_factory=list)
    nacks: list[Nack] = field(default_factory=list)

    @property
    def heard(self) -> int:
        return len(self.stored_at) + len(self.nacks)


class Fates:
    def __init__(self, total: int) -> None:
        self.tickets = Tickets(total)
        self._fate = np.zeros(total + 1, np.uint8)
        self._open: dict[int, OpenGroup] = {}
        #: Groups up to this one are over: what is not settled of them has tickets of its own.
        self._over = 0
        #: Answered in full, and not alike: the stream must be asked, or all be published again by themselves.
        self.mixed: list[OpenGroup] = []
        #: Refused for the moment, each by itself.
        self.refused_for_now: list[int] = []
        #: Acknowledgements that have come, of groups that are not whole yet too; heartbeats' not counted.
        self.acks = 0
        self.nacks = 0
        self.acked = 0
        self.refused: Counter[str] = Counter()
        self.refused_count = 0
        self.deduplicated = 0
        self.repeated_answers = 0

    @property
    def settled(self) -> int:
        return self.acked + self.refused_count

    def acked_flags(self) -> Flags:
        """By seq (index 0 unused): whether JetStream acknowledged the message."""
        flags: Flags = self._fate == _ACKED
        return flags

    def unsettled(self, seqs: Ints) -> Ints:
        open_ones: Ints = seqs[self._fate[seqs] == _UNANSWERED]
        return open_ones

    def open_groups(self) -> list[OpenGroup]:
        return [*self._open.values(), *self.mixed]

    def tickets_for(self, seqs: Ints) -> Ints:
        """For messages that are sent for the first time, in order."""
        alone = seqs <= self._over * GROUP
        if not alone.any():
            return self.tickets.shared(seqs)
        return np.where(alone, self.tickets.own(seqs), self.tickets.shared(seqs))

    def end_groups(self, sent: int) -> None:
        """Before all that is unsettled is published again: answers to the groups so far tell nothing more."""
        self._over = max(self._over, -(-sent // GROUP))
        self._open.clear()
        self.mixed.clear()
        self.refused_for_now.clear()

    # -- answers -------------------------------------------------------------

    def hear(self, answers: Answers) -> None:
        self.acks += int(np.count_nonzero(answers.acked))
        self.nacks += len(answers.nacked)
        self.deduplicated += len(answers.deduplicated)
        for nack in answers.nacked:
            self._hear_nack(nack)
        tickets, stored_at = answers.acked, answers.stored_at
        if not len(tickets):
            return
        if int(tickets.max()) > self.tickets.last:
            raise WireError(f"an answer to ticket {tickets.max()}, which was never given out")
        shared = (tickets > BEAT) & (tickets <= self.tickets.groups)
        if not shared.all():
            self.settle(tickets[tickets > self.tickets.groups] - self.tickets.groups)
            tickets, stored_at = tickets[shared], stored_at[shared]
        if len(tickets):
            self._hear_groups(tickets, stored_at)

    def settle(self, seqs: Ints) -> None:
        """JetStream has stored these."""
        fresh = self.unsettled(np.unique(seqs))  # what is named twice is stored once
        self._fate[fresh] = _ACKED
        self.acked += len(fresh)
        self.repeated_answers += len(seqs) - len(fresh)

    def _hear_groups(self, tickets: Ints, stored_at: Ints) -> None:
        if (tickets[1:] < tickets[:-1]).any():
            order = np.argsort(tickets, kind="stable")
            tickets, stored_at = tickets[order], stored_at[order]
        borders = np.flatnonzero(tickets[1:] != tickets[:-1]) + 1
        bounds = np.concatenate([[0], borders, [len(tickets)]])
        groups, counts = tickets[bounds[:-1]], np.diff(bounds)
        whole = counts == np.minimum(GROUP, self.tickets.total - (groups - 1) * GROUP)
        whole &= groups > self._over
        if self._open:
            whole &= ~np.isin(groups, list(self._open))
        self._settle_groups(groups[whole])
        for at in np.flatnonzero(~whole):
            self._hear_part(int(groups[at]), stored_at[bounds[at] : bounds[at + 1]].tolist())

    def _settle_groups(self, groups: Ints) -> None:
        if not len(groups):
            return
        first, last = int(groups[0]), int(groups[-1])
        span = self._fate[(first - 1) * GROUP + 1 : last * GROUP + 1]
        if last - first == len(groups) - 1 and not span.any():  # as nearly always: one after the other
            span[:] = _ACKED
            self.acked += len(span)
            return
        members = ((groups - 1) * GROUP)[:, None] + np.arange(1, GROUP + 1)
        self.settle(members[members <= self.tickets.total])

    def _hear_part(self, group: int, stored_at: list[int]) -> None:
        if group <= self._over or not len(self.unsettled(self.tickets.members(group))):
            self.repeated_answers += len(stored_at)
            return
        self._opened(group).stored_at += stored_at
        self._judge(group)

    def _hear_nack(self, nack: Nack) -> None:
        seq = nack.ticket - self.tickets.groups
        if nack.ticket == BEAT:
            return
        if seq <= 0:
            if nack.ticket > self._over:
                self._opened(nack.ticket).nacks.append(nack)
                self._judge(nack.ticket)
        elif self._fate[seq] == _UNANSWERED:
            if nack.code in PASSING:
                self.refused_for_now.append(seq)
            else:
                self._refuse(seq, nack)

    def _opened(self, group: int) -> OpenGroup:
        return self._open.setdefault(group, OpenGroup(group))

    def _judge(self, group: int) -> None:
        members, heard = self.tickets.members(group), self._open[group]
        if heard.heard < len(members):
            return
        del self._open[group]
        if not heard.nacks:
            self.settle(members)
        elif not heard.stored_at and all(nack.code not in PASSING for nack in heard.nacks):
            for seq, nack in zip(members.tolist(), heard.nacks, strict=False):
                self._refuse(seq, nack)
        else:
            self.mixed.append(heard)

    def _refuse(self, seq: int, nack: Nack) -> None:
        self._fate[seq] = _REFUSED
        self.refused[f"{nack.text} ({nack.code})"] += 1
        self.refused_count += 1
