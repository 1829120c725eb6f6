"""The live line on a terminal, and lines now and then in a log."""

from __future__ import annotations

import io
import os
import pty
from dataclasses import replace

import pytest

from bench import progress as progress_module
from bench.cases import case_b
from bench.progress import Progress
from bench.sampler import Sample
from bench.settings import RawOptions, check_options

CASE = case_b(check_options(RawOptions(profile="standard")))
RUN = "B-mock-20260101-000000-abcd"
CLEAR = "\r\x1b[2K"
SAMPLE = Sample(
    t_s=12.0,
    out_t_s=12.1,
    phase="measure",
    prod_max_seq=24_000,
    prod_sent=24_000,
    prod_acked=24_000,
    prod_rate=2000.4,
    out_count=23_000,
    out_max_seq=23_000,
    out_rate=1999.6,
    lag=1_234,
    p95_ms=10.0,
    p99_ms=12.34,
    slip_p99_ms=0.1,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 5.0  # a machine that has just been switched on

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(progress_module, "time", fake)
    return fake


def test_the_live_line_tells_phase_rate_lag_and_p99() -> None:
    """If this fails, a person at the terminal does not see how the run goes."""
    screen = Terminal()
    progress = Progress(screen)
    progress.phase(CASE, RUN, "set-up")
    progress.sample(SAMPLE)
    shown = screen.getvalue().split(CLEAR)[1:]
    assert shown[0].startswith("case B-mock set-up")
    for part in ("case B-mock measure 12/140 s", "in 2,000/s", "out 2,000/s", "lag 1,234", "p99 12.3 ms"):
        assert part in shown[1]


def test_the_live_line_stays_one_line() -> None:
    """If this fails, each second leaves a row behind on a terminal of 80 columns."""
    screen = Terminal()
    progress = Progress(screen)
    progress.phase(CASE, RUN, "set-up")
    progress.sample(replace(SAMPLE, lag=10**12, prod_rate=1e9, out_rate=1e9))
    assert "\n" not in screen.getvalue()
    assert all(len(line) < 80 for line in screen.getvalue().split(CLEAR))


def test_the_line_is_as_wide_as_the_terminal() -> None:
    """If this fails, a narrow terminal wraps the line, or a wide one hides the run's name."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as screen:
        for columns in (40, 200):
            os.set_blocking(ours, False)
            _resize(screen, columns)
            progress = Progress(screen)
            progress.phase(CASE, RUN, "set-up")
            progress.sample(SAMPLE)
            shown = os.read(ours, 10_000).decode().split(CLEAR)[1:]
            assert all(len(line) < columns for line in shown)
            assert (RUN in shown[-1]) == (columns == 200)
    os.close(ours)


def _resize(screen, columns: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(screen.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_the_last_line_is_cleared() -> None:
    """If this fails, pytest's own output is written behind the live line."""
    screen = Terminal()
    progress = Progress(screen)
    progress.phase(CASE, RUN, "check")
    progress.done()
    assert screen.getvalue().endswith(CLEAR)


def test_a_log_gets_a_line_at_once_and_then_one_in_thirty_seconds(clock: Clock) -> None:
    """If this fails, a CI log is silent for minutes, or drowns in progress."""
    log = io.StringIO()
    progress = Progress(log)
    progress.phase(CASE, RUN, "set-up")
    for second in range(1, 91):
        clock.now += 1
        progress.sample(replace(SAMPLE, t_s=float(second)))
    progress.done()
    lines = log.getvalue().splitlines()
    assert len(lines) == 1 + 3
    assert lines[0] == f"case B-mock set-up  {RUN}"
    assert [line.split()[3] for line in lines[1:]] == ["30/140", "60/140", "90/140"]
    assert "\x1b" not in log.getvalue()
    assert all(line.endswith(RUN) for line in lines)


def test_a_second_without_output_shows_a_dash() -> None:
    """If this fails, a stall looks like the best second of the run."""
    screen = Terminal()
    progress = Progress(screen)
    progress.sample(replace(SAMPLE, p99_ms=None))
    assert "p99 -" in screen.getvalue()


def test_the_drain_does_not_count_beyond_the_end() -> None:
    """If this fails, the line shows 150 of 140 seconds."""
    screen = Terminal()
    progress = Progress(screen)
    progress.phase(CASE, RUN, "set-up")
    progress.sample(replace(SAMPLE, phase="drain", t_s=150.0))
    assert "drain 140/140 s" in screen.getvalue()


def test_without_a_stream_nothing_is_shown() -> None:
    """If this fails, the runner needs a terminal."""
    progress = Progress(None)
    progress.phase(CASE, RUN, "set-up")
    progress.sample(SAMPLE)
    progress.done()
