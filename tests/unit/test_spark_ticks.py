"""Offsets and ticks, by simulation of what Spark does with them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.jetstream.stream import StreamState, to_ns
from spark_jobs.jetstream.ticks import Offset, Pace, Ticks, split

WINDOW_MS = 1000


def test_nothing_new_is_the_same_offset() -> None:
    """Spark would run empty micro-batches for ever."""
    start = Offset(5, 3000, 3000)
    assert Ticks(1000, 50, 0).next_offset(start, StreamState(1, 5, 3900), None) == start


def test_without_ticks_only_the_sequence_moves() -> None:
    """A plain query would get rows that are no events."""
    assert Ticks().next_offset(Offset(1), StreamState(1, 8, 12345), 5) == Offset(6)


def test_offset_goes_round_through_json() -> None:
    """A restarted query would begin elsewhere."""
    offset = Offset(7, 2000, 1000)
    assert Offset.from_dict(offset.as_dict()) == offset


def test_no_tick_while_catching_up() -> None:
    """A tick would close windows whose events are still to be read."""
    assert Ticks(1000, 0, 0).next_offset(Offset(1), StreamState(1, 100, 50_000), 10) == Offset(11)


def test_server_time_in_nanoseconds() -> None:
    """Ticks would be off by the rounding of a float."""
    assert to_ns("1970-01-01T00:00:01.000000001Z") == 1_000_000_001
    assert to_ns("1970-01-01T01:00:00.5+01:00") == 500_000_000
    assert to_ns("2026-11-16T10:35:25Z") % 10**9 == 0


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 64), st.integers(1, 1000))
def test_split_covers_the_range_once(first: int, size: int, parts: int, least: int) -> None:
    """Events between two tasks' ranges would be lost, or read by both."""
    ranges = split(first, first + size, parts, least)
    assert [seq for low, high in ranges for seq in (low, high)][1:-1:2] == [low for low, _ in ranges[1:]]
    assert sum(high - low for low, high in ranges) == size
    assert len(ranges) <= parts
    assert all(high - low >= min(least, size) for low, high in ranges)
    if size:
        assert (ranges[0][0], ranges[-1][1]) == (first, first + size)


def test_the_lead_follows_long_batches() -> None:
    """On a busy machine every window would be emitted a whole batch later than it could be."""
    pace, ticks = Pace(), Ticks(10_000, 50, 750)
    assert pace.following(ticks) == ticks
    pace.planned(100.0)
    pace.asked(102.0)
    pace.asked(109.0)
    assert pace.following(ticks).lead_ms == 2500
    pace.planned(110.0)
    pace.asked(110.3)
    assert pace.following(ticks).lead_ms == 750
    pace.planned(120.0)
    pace.asked(140.0)
    assert pace.following(ticks).lead_ms == 5000


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int], list[int], Ticks, int | None]:
    """Stored times of events, times between Spark's calls, tick settings, and a limit."""
    stored, now = [], 10_000
    for gap in draw(st.lists(st.integers(0, 400), max_size=40)):
        now += gap
        stored.append(now)
    calls = draw(st.lists(st.integers(1, 900), min_size=1, max_size=40))
    grace, lead = draw(st.integers(1, 100)), draw(st.integers(0, WINDOW_MS - 1))
    return stored, calls, Ticks(WINDOW_MS, grace, lead), draw(st.none() | st.integers(1, 9))


@given(runs())
def test_every_event_is_in_exactly_one_emitted_window(
    run: tuple[list[int], list[int], Ticks, int | None],
) -> None:
    """A tick too early would drop events as late; one too late or lost would leave the last window open."""
    stored, calls, ticks, limit = run
    open_windows: dict[int, int] = {}
    closed: dict[int, int] = {}
    offset = Offset(1)
    watermark = watermark_before = 0
    now = 10_000
    calls = calls + [500] * 60
    for pause in calls:
        now += pause
        while True:
            state = StreamState(1, 1 + sum(1 for at in stored if at < now), now)
            wait = ticks.wait_ms(offset, now)
            if not wait:
                break
            now += wait
        end = ticks.next_offset(offset, state, limit)
        # As Spark does it: rows are late by the watermark before, windows close by this one.
        seen = watermark
        for seq in range(offset.seq, end.seq):
            stamp = max(stored[seq - 1], offset.floor_ms)
            window_end = stamp // WINDOW_MS * WINDOW_MS + WINDOW_MS
            assert window_end > watermark_before, "late"
            open_windows[window_end] = open_windows.get(window_end, 0) + 1
            seen = max(seen, stamp)
        if end.tick_ms > offset.tick_ms:
            seen = max(seen, end.tick_ms)
        for window_end in [end_ms for end_ms in open_windows if end_ms <= watermark]:
            assert window_end not in closed, "emitted twice"
            closed[window_end] = open_windows.pop(window_end)
        watermark_before, watermark, offset = watermark, seen, end
    assert not open_windows
    expected: dict[int, int] = {}
    for at in stored:
        expected[at // WINDOW_MS * WINDOW_MS + WINDOW_MS] = (
            expected.get(at // WINDOW_MS * WINDOW_MS + WINDOW_MS, 0) + 1
        )
    assert closed == expected
