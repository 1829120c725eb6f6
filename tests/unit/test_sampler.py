"""The sampler against a clock that is moved by hand: one line a second each, and all of it on disk."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from bench import pulse as pulse_module
from bench.clock import RunClock
from bench.contract.heartbeat import Heartbeat, encode_heartbeat
from bench.contract.metric_lines import DbLine, ObsLine, ProdLine, parse_metric_line
from bench.latency import LatencyRecorder
from bench.phases import Phases
from bench.runfiles import RunFiles
from bench.sampler import OutputState, Sample, Sampler
from bench.wire.errors import ConnectionLost

SECOND_NS = 1_000_000_000
RUN = "run-1"
RATE = 100
WARMUP_S, MEASURE_S, DRAIN_S = 2, 4, 3
EPOCH_NS = 1_700_000_000 * SECOND_NS


class Hands:
    """The fakes' common clock: whoever waits moves it."""

    def __init__(self) -> None:
        self.now_ns = 50 * SECOND_NS

    def clock(self) -> RunClock:
        return RunClock(lambda: self.now_ns, lambda: self.now_ns + EPOCH_NS)


class Stop(threading.Event):
    """Waiting moves the clock; set when the run's time is over."""

    def __init__(self, hands: Hands, until_ns: int) -> None:
        super().__init__()
        self._hands, self._until_ns = hands, until_ns

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert timeout > 0
        self._hands.now_ns += round(timeout * 1e9)
        if self._hands.now_ns > self._until_ns:
            self.set()
        return self.is_set()


class Producer:
    def __init__(self, hands: Hands, start_ns: int) -> None:
        self._hands, self._start_ns = hands, start_ns
        self.slip = LatencyRecorder()

    @property
    def sent(self) -> int:
        elapsed_ns = min(self._hands.now_ns - self._start_ns, (WARMUP_S + MEASURE_S) * SECOND_NS)
        return max(0, elapsed_ns) * RATE // SECOND_NS

    @property
    def acked(self) -> int:
        return self.sent


class Pulse:
    """Beats at every whole second; takes a while to be heard."""

    def __init__(self, hands: Hands, producer: Producer) -> None:
        self._hands, self._producer = hands, producer
        self.closed = False
        self.silent = False

    def listen(self, wait_s: float) -> Heartbeat | None:
        if self.silent:
            self._hands.now_ns += round(wait_s * 1e9)
            return None
        sent = self._producer.sent
        self._hands.now_ns += 1_000_000
        return Heartbeat(RUN, sent, RATE, 0)

    def close(self) -> None:
        self.closed = True


class Output:
    """What came out, `behind` events late."""

    def __init__(self, hands: Hands, producer: Producer, phases: Phases, line_type=ObsLine) -> None:
        self._hands, self._producer, self._phases = hands, producer, phases
        self.line_type = line_type
        self.warmup, self.measure, self.hop = LatencyRecorder(), LatencyRecorder(), LatencyRecorder()
        self.behind = 0
        self.takes_ns = 5_000_000
        self._recorded = 0

    def state(self) -> OutputState:
        count = max(0, self._producer.sent - self.behind)
        recorder = self.measure if self._phases.measuring(self._hands.now_ns - 1) else self.warmup
        recorder.record(np.full(count - self._recorded, 7_000, np.int64))
        self._recorded = count
        self._hands.now_ns += self.takes_ns
        return OutputState(count, count)

    def recorders(self) -> dict[str, LatencyRecorder]:
        return {"warmup": self.warmup, "measure": self.measure, "hop": self.hop}


class Rig:
    def __init__(self, folder: Path, line_type=ObsLine) -> None:
        self.hands = Hands()
        clock = self.hands.clock()
        start_ns = self.hands.now_ns + SECOND_NS // 2
        border_ns = start_ns + WARMUP_S * SECOND_NS
        self.phases = Phases(start_ns, border_ns, border_ns + MEASURE_S * SECOND_NS)
        self.files = RunFiles(folder, RUN, clock.epoch_ns(self.hands.now_ns) / 1e9)
        self.producer = Producer(self.hands, start_ns)
        self.pulse = Pulse(self.hands, self.producer)
        self.output = Output(self.hands, self.producer, self.phases, line_type)
        self.shown: list[Sample] = []
        self.sampler = Sampler(
            self.files,
            RUN,
            clock,
            self.phases,
            self.producer,  # type: ignore[arg-type]
            self.pulse,  # type: ignore[arg-type]
            self.output,
            self.shown.append,
        )

    def run(self) -> None:
        until_ns = self.phases.measure_to_ns + DRAIN_S * SECOND_NS + SECOND_NS // 2
        self.sampler.run(Stop(self.hands, until_ns))
        self.sampler.write_rest()
        self.files.close()

    def lines(self) -> list[ProdLine | ObsLine | DbLine]:
        return [parse_metric_line(line) for line in (self.files.folder / "run.log").read_text().splitlines()]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.mark.parametrize("line_type", [ObsLine, DbLine])
def test_one_line_of_each_a_second_and_none_in_the_drain(tmp_path: Path, line_type) -> None:
    """If this fails, a script that counts the metric lines of a run miscounts its seconds."""
    rig = Rig(tmp_path, line_type)
    rig.run()
    lines = rig.lines()
    assert [type(line) for line in lines] == [ProdLine, line_type] * (WARMUP_S + MEASURE_S)
    assert {line.run_id for line in lines} == {RUN}
    phases = [sample.phase for sample in rig.sampler.samples]
    assert phases == ["warm-up"] * WARMUP_S + ["measure"] * MEASURE_S + ["drain"] * DRAIN_S


def test_lines_tell_rate_seq_lag_and_percentiles(rig: Rig) -> None:
    """If this fails, a reader of run.log sees figures of something else."""
    rig.output.behind = 30
    rig.run()
    prod, obs = rig.lines()[-2:]
    assert isinstance(prod, ProdLine)
    assert isinstance(obs, ObsLine)
    assert (prod.rate_per_s, prod.max_seq) == (RATE, RATE * (WARMUP_S + MEASURE_S))
    assert obs.max_seq == prod.max_seq - 30
    assert (obs.lag, obs.p95_ms, obs.p99_ms) == (30, 7, 7)


def test_lag_counts_from_the_heartbeat(rig: Rig) -> None:
    """If this fails, the lag is taken from inside the process and not as an outsider would see it."""
    rig.output.behind = 30
    rig.pulse.silent = True
    rig.run()
    assert {sample.prod_max_seq for sample in rig.sampler.samples} == {0}
    assert {sample.lag for sample in rig.sampler.samples} == {0}
    assert rig.sampler.samples[-1].prod_sent > 0


def test_every_sample_is_a_json_line_and_is_shown(rig: Rig) -> None:
    """If this fails, a run cannot be analysed again later, or the live line stands still."""
    rig.run()
    written = [json.loads(line) for line in (rig.files.folder / "metrics.jsonl").read_text().splitlines()]
    assert len(written) == WARMUP_S + MEASURE_S + DRAIN_S
    assert [one["phase"] for one in written] == [sample.phase for sample in rig.sampler.samples]
    assert rig.shown == rig.sampler.samples
    assert set(written[0]) == set(Sample.__dataclass_fields__)


def test_a_slow_output_does_not_stretch_the_rates(rig: Rig) -> None:
    """If this fails, a database that answers late makes the producer look slow."""
    rig.output.takes_ns = 700_000_000
    rig.run()
    for sample in rig.sampler.samples:
        if sample.phase != "drain":
            assert sample.prod_rate == pytest.approx(RATE, rel=0.05)


def test_a_second_that_was_missed_is_made_up_for(rig: Rig) -> None:
    """If this fails, a stall of the sampler leaves a run short of lines and waiting for ever."""
    state = rig.output.state

    def stalls_once() -> OutputState:
        rig.output.takes_ns = 2_600_000_000 if len(rig.sampler.samples) == 3 else 5_000_000
        return state()

    rig.output.state = stalls_once  # type: ignore[method-assign]
    rig.run()
    assert [sample.phase for sample in rig.sampler.samples].count("measure") == MEASURE_S
    assert len(rig.lines()) == 2 * (WARMUP_S + MEASURE_S)


def test_a_second_in_which_nothing_came_out_has_no_percentile(rig: Rig) -> None:
    """If this fails, a stall prints the best latency of the run."""
    rig.output.behind = 10**9
    rig.run()
    obs = rig.lines()[-1]
    assert isinstance(obs, ObsLine)
    assert (obs.max_seq, obs.p95_ms, obs.p99_ms) == (0, None, None)


def histograms(path: Path, tag: str) -> list[HdrHistogram]:
    """All intervals of a tag, read by hdrh."""
    lines = path.read_text().splitlines(keepends=True)
    chosen = path.with_suffix(f".{tag}")
    chosen.write_text(
        "".join(
            line.removeprefix(f"Tag={tag},") for line in lines if line[:3] != "Tag" or f"Tag={tag}," in line
        )
    )
    reader = HistogramLogReader(str(chosen), HdrHistogram(1, 3_600_000_000, 3))
    found = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found.append(histogram)
    return found


def test_the_histogram_log_holds_every_latency_once(rig: Rig) -> None:
    """If this fails, the percentiles of a report cannot be recomputed from its histogram log."""
    rig.output.behind = 40
    rig.run()
    log = rig.files.folder / "latency.hlog"
    for tag, recorder in rig.output.recorders().items():
        intervals = histograms(log, tag)
        assert len(intervals) == WARMUP_S + MEASURE_S + DRAIN_S + 1
        assert sum(one.get_total_count() for one in intervals) == recorder.total.count
    assert rig.output.measure.total.count > 0


def test_what_was_recorded_after_the_last_second_is_in_the_log(rig: Rig) -> None:
    """If this fails, the tail of a run is in its result and in no histogram."""
    until_ns = rig.phases.measure_to_ns
    rig.sampler.run(Stop(rig.hands, until_ns))
    rig.output.measure.record(np.full(11, 900_000, np.int64))
    rig.sampler.write_rest()
    rig.files.close()
    intervals = histograms(rig.files.folder / "latency.hlog", "measure")
    assert intervals[-1].get_total_count() == 11
    assert sum(one.get_total_count() for one in intervals) == rig.output.measure.total.count


def test_a_run_that_ends_before_it_began_can_be_written(rig: Rig) -> None:
    """If this fails, a driver that dies at once takes the report with it."""
    rig.sampler.write_rest()
    rig.files.close()
    assert rig.sampler.samples == []


def test_the_pulse_is_closed_whatever_happens(rig: Rig) -> None:
    """If this fails, every failed run leaves a connection behind."""

    def broken() -> OutputState:
        raise ZeroDivisionError

    rig.output.state = broken  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        rig.run()
    assert rig.pulse.closed


# -- the pulse itself -----------------------------------------------------------------


class Spoken(list):
    """A batch of payloads."""

    def payload(self, i: int) -> bytes:
        return self[i]


class Wire:
    """Hands out what was said, a batch a read; an exception in it is raised."""

    def __init__(self, *said) -> None:
        self.said = list(said)
        self.opened = self.closed = 0

    def connect(self, _name: str) -> Wire:
        self.opened += 1
        return self

    def close(self) -> None:
        self.closed += 1

    def reader(self, connection: Wire, *_args, **_kwargs):
        self.connection = connection
        return self

    def read(self, _wait_s: float) -> Spoken:
        answer = self.said.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def beat(seq: int, run_id: str = RUN) -> bytes:
    return encode_heartbeat(Heartbeat(run_id, seq, RATE, 0))


def listening(monkeypatch: pytest.MonkeyPatch, *said) -> tuple[pulse_module.Pulse, Wire]:
    wire = Wire(*said)
    monkeypatch.setattr(pulse_module, "PatientReader", wire.reader)
    return pulse_module.Pulse(wire.connect, "pulse", RUN), wire  # type: ignore[arg-type]


def test_the_latest_heartbeat_of_the_run_is_heard(monkeypatch) -> None:
    """If this fails, the lag counts from an old heartbeat or another run's."""
    pulse, _ = listening(monkeypatch, Spoken([beat(1), beat(2), beat(99, "other")]))
    heard = pulse.listen(5.0)
    assert heard is not None
    assert heard.prod_max_seq == 2


def test_what_is_no_heartbeat_is_passed_over(monkeypatch) -> None:
    """If this fails, anyone who speaks on bench.prod ends the measurement."""
    pulse, _ = listening(monkeypatch, Spoken([b"hello", b"{}", b"[" * 5000]), Spoken([beat(7)]))
    heard = pulse.listen(5.0)
    assert heard is not None
    assert heard.prod_max_seq == 7


def test_a_lost_connection_is_closed_and_made_anew(monkeypatch) -> None:
    """If this fails, each outage leaves a socket behind, or the lag stands still for the rest of the run."""
    pulse, wire = listening(monkeypatch, ConnectionLost("cut"), Spoken([beat(3)]))
    heard = pulse.listen(5.0)
    assert heard is not None
    assert heard.prod_max_seq == 3
    assert (wire.opened, wire.closed) == (2, 1)
    pulse.close()
    assert wire.closed == 2
