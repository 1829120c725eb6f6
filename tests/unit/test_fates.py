"""What became of every message: no answer, in whatever order, says more than it can."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fates import Fates
from bench.tickets import GROUP, Tickets
from bench.wire.errors import WireError
from bench.wire.pubacks import Answers, Nack

relaxed = settings(deadline=None)  # a busy machine is no finding
TOTAL = 3 * GROUP + 5
FULL = (10077, "maximum messages exceeded")
GONE = (503, "no stream listens on this subject")
BUSY = (10167, "too many requests")


def acks(*tickets: int, first_place: int = 1) -> Answers:
    places = np.arange(first_place, first_place + len(tickets), dtype=np.int64)
    return Answers(np.array(tickets, np.int64), places)


def nacks(code: tuple[int, str], *tickets: int) -> Answers:
    return Answers(np.empty(0, np.int64), np.empty(0, np.int64), nacked=[Nack(one, *code) for one in tickets])


def acked_seqs(fates: Fates) -> list[int]:
    return np.flatnonzero(fates.acked_flags()).tolist()


@relaxed
@given(st.integers(1, 5 * GROUP), st.randoms(use_true_random=False), st.lists(st.integers(0, 200)))
def test_all_acknowledged_in_any_order_and_in_any_pieces(total, chance, cuts) -> None:
    """If this fails, messages that are stored count as unanswered and are published again."""
    fates = Fates(total)
    tickets = fates.tickets_for(np.arange(1, total + 1)).tolist()
    if chance.random() < 0.5:
        chance.shuffle(tickets)
    borders = sorted({0, total, *(cut % (total + 1) for cut in cuts)})
    for low, high in pairwise(borders):
        assert fates.settled < total
        fates.hear(acks(*tickets[low:high]))
    assert acked_seqs(fates) == list(range(1, total + 1))
    assert (fates.settled, fates.repeated_answers, fates.open_groups()) == (total, 0, [])


def test_of_a_group_answered_in_part_nothing_is_said() -> None:
    """If this fails, the acknowledgement of one message counts for another that a dying leader swallowed."""
    fates = Fates(TOTAL)
    fates.hear(acks(*[1] * (GROUP - 1), *[2] * GROUP, first_place=7))
    assert acked_seqs(fates) == list(range(GROUP + 1, 2 * GROUP + 1))
    assert fates.acks == 2 * GROUP - 1
    (group,) = fates.open_groups()
    assert (group.number, group.stored_at) == (1, list(range(7, 7 + GROUP - 1)))


@pytest.mark.parametrize("code", [GONE, BUSY])
def test_a_group_with_a_passing_refusal_is_in_doubt_as_a_whole(code) -> None:
    """If this fails, a stored message is published twice, or a refused one never again."""
    fates = Fates(TOTAL)
    fates.hear(nacks(code, 1))
    fates.hear(acks(*[1] * (GROUP - 1), first_place=50))
    assert acked_seqs(fates) == []
    assert [group.stored_at for group in fates.mixed] == [list(range(50, 50 + GROUP - 1))]
    assert fates.refused_count == 0
    fates.settle(np.arange(2, GROUP + 1))  # the stream was asked
    assert fates.unsettled(fates.tickets.members(1)).tolist() == [1]


def test_a_group_refused_for_good_is_refused_with_the_servers_words() -> None:
    """If this fails, messages that a full stream refused are published again for ever."""
    fates = Fates(TOTAL)
    fates.hear(nacks(FULL, *[4] * 5))
    assert fates.refused == {"maximum messages exceeded (10077)": 5}
    assert fates.settled == 5
    assert fates.mixed == []


def test_acknowledged_and_refused_for_good_in_one_group() -> None:
    """If this fails, it is guessed which messages of a group fitted into a stream that became full."""
    fates = Fates(TOTAL)
    fates.hear(acks(*[4] * 3))
    fates.hear(nacks(FULL, 4, 4))
    assert fates.settled == 0
    assert len(fates.mixed) == 1


def test_tickets_of_their_own_speak_for_one_message() -> None:
    """If this fails, what was published again is not known by itself."""
    fates = Fates(TOTAL)
    own = fates.tickets.own(np.array([3, 4, 5])).tolist()
    fates.hear(acks(own[0], own[0]))
    fates.hear(nacks(GONE, own[1]))
    fates.hear(nacks(FULL, own[2]))
    assert acked_seqs(fates) == [3]
    assert fates.refused_for_now == [4]
    assert (fates.refused_count, fates.repeated_answers) == (1, 1)


def test_after_a_reconnect_the_groups_so_far_say_nothing() -> None:
    """If this fails, a late answer from before counts for a message that was sent after."""
    fates = Fates(TOTAL)
    sent = GROUP + 3
    fates.hear(acks(*[1] * GROUP, 2))
    fates.end_groups(sent)
    fates.hear(acks(2, 2))
    assert acked_seqs(fates) == list(range(1, GROUP + 1))
    assert fates.repeated_answers == 2
    # The rest of the group that was under way goes by itself, the next group together again.
    rest = np.arange(sent + 1, 2 * GROUP + 2)
    tickets = fates.tickets_for(rest).tolist()
    assert tickets == [*fates.tickets.own(rest[:-1]).tolist(), 3]
    fates.hear(acks(*fates.tickets.own(np.arange(GROUP + 1, 2 * GROUP + 1)).tolist()))
    assert fates.acked == 2 * GROUP


def test_a_group_that_is_acknowledged_twice_counts_once() -> None:
    """If this fails, a server that repeats itself makes up for messages that it lost."""
    fates = Fates(TOTAL)
    for _ in range(2):
        fates.hear(acks(*[1] * GROUP))
    fates.hear(acks(1))
    assert (fates.acked, fates.repeated_answers, fates.open_groups()) == (GROUP, GROUP + 1, [])


def test_heartbeats_are_nobodys() -> None:
    """If this fails, a stream that takes nothing looks alive because of the heartbeats beside it."""
    fates = Fates(TOTAL)
    fates.hear(acks(0, 0))
    fates.hear(nacks(GONE, 0))
    assert (fates.acks, fates.settled, fates.refused_for_now, fates.open_groups()) == (0, 0, [], [])


def test_a_ticket_that_was_never_given_out_is_an_error() -> None:
    """If this fails, an answer to somebody else ends the producer with a traceback, or counts."""
    with pytest.raises(WireError, match="never given out"):
        Fates(TOTAL).hear(acks(Tickets(TOTAL).last + 1))


@given(st.integers(1, 10_000))
def test_every_message_has_two_tickets(total: int) -> None:
    """If this fails, an answer is about the wrong messages."""
    tickets = Tickets(total)
    seqs = np.arange(1, total + 1)
    shared = tickets.shared(seqs)
    assert shared.min() == 1
    assert shared.max() == tickets.groups
    assert np.concatenate([tickets.members(group) for group in range(1, tickets.groups + 1)]).tolist() == (
        seqs.tolist()
    )
    assert tickets.own(seqs).tolist() == list(range(tickets.groups + 1, tickets.last + 1))
    assert len(str(tickets.last)) == tickets.width
