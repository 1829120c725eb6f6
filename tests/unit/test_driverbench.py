"""The driver's own bench: what its figures mean, before any service is started."""

from __future__ import annotations

import pytest

from bench.driverbench import __main__ as command
from bench.driverbench import natscli
from bench.driverbench.contest import Contestant, rotated
from bench.driverbench.errors import TurnFailed
from bench.driverbench.growth import STEPS, Growth, Step
from bench.driverbench.natscli import reported_rate
from bench.driverbench.ours import Load, Spent
from bench.driverbench.ratios import (
    BARE_INSERT,
    BARS,
    NATS_ASYNC,
    NATS_BATCH,
    NATS_FETCH,
    OBSERVER,
    PAIRS,
    PRODUCER,
    WRITER,
    ratios,
)
from bench.driverbench.report import Report
from bench.driverbench.tables import bars_table, growth_table, standings_table
from bench.driverbench.turn import Turn, standings
from bench.infra.errors import InfraError
from bench.publish_frames import EventFrames, seq_range
from bench.verdict import Verdict


def turn(name: str, rate: float = 1000.0, cpu: float = 1.0, number: int = 0, storage: str = "file") -> Turn:
    part = {OBSERVER: "consume", NATS_FETCH: "consume", WRITER: "write", BARE_INSERT: "write"}.get(
        name, "publish"
    )
    return Turn(part, name, storage, number, 1000, 1000 / rate, cpu / 1000, cpu / 1000, 0.001)


def full_house(**changes: float) -> list[Turn]:
    """One round in which every bar holds, but for the changes: name of a pair → our rate or CPU."""
    values = {"rate": 1000.0, "cpu": 0.1} | changes
    ours = [turn(name, values["rate"], values["cpu"]) for name in (PRODUCER, OBSERVER, WRITER)]
    theirs = [turn(name, 500.0, 1.0) for name in (NATS_ASYNC, NATS_BATCH, NATS_FETCH, BARE_INSERT)]
    return [*ours, *theirs]


def report_of(turns: list[Turn]) -> Report:
    return Report(turns, [], {}, {}, {})


def test_a_ratio_is_ours_by_theirs_round_by_round() -> None:
    """A round on a busy machine would count against whoever happened to run in it."""
    turns = [
        *(turn(PRODUCER, rate=200, cpu=1, number=0), turn(NATS_ASYNC, rate=100, cpu=10, number=0)),
        *(turn(PRODUCER, rate=20, cpu=3, number=1), turn(NATS_ASYNC, rate=10, cpu=30, number=1)),
        *(turn(PRODUCER, rate=900, cpu=1, number=2), turn(NATS_ASYNC, rate=300, cpu=5, number=2)),
    ]
    found = ratios(turns, "file")
    assert found["producer_rate_vs_nats_async"] == pytest.approx(2)
    assert found["producer_cpu_vs_nats_async"] == pytest.approx(0.1)


def test_two_turns_of_a_round_count_as_one() -> None:
    """The second of two would hide the first, and with it who had to run after whom."""
    turns = [turn(WRITER, 100), turn(BARE_INSERT, 50), turn(BARE_INSERT, 150), turn(WRITER, 300)]
    assert ratios(turns, "file")["writer_rate_vs_bare_insert"] == pytest.approx(2)


def test_storages_are_not_mixed() -> None:
    """Memory is faster than file: a ratio across the two would mean nothing."""
    turns = [turn(PRODUCER, storage="memory"), turn(NATS_ASYNC, storage="file")]
    assert ratios(turns, "file")["producer_rate_vs_nats_async"] is None


def test_every_bar_has_a_pair_and_every_pair_a_bar() -> None:
    """A ratio without a bar is never judged; a bar without a ratio can never hold."""
    assert [bar.metric for bar in BARS] == list(PAIRS)


def test_all_bars_hold() -> None:
    """If this fails, the other tests here fail for the wrong reason."""
    assert report_of(full_house()).judged.verdict is Verdict.PASS


def test_all_missed_bars_are_listed() -> None:
    """Whoever mends the first would learn of the second only in the next run."""
    judged = report_of(full_house(rate=400.0, cpu=0.6)).judged
    assert judged.verdict is Verdict.FAIL
    assert [violation.metric for violation in judged.violations] == [bar.metric for bar in BARS]


def test_what_was_not_measured_does_not_hold() -> None:
    """A contestant that never ran would pass every bar."""
    judged = report_of([turn for turn in full_house() if turn.name != NATS_FETCH]).judged
    assert judged.verdict is Verdict.INVALID
    assert "NOT MEASURED" in "\n".join(bars_table(judged))


def test_the_report_has_the_ratios_on_top_and_all_turns() -> None:
    """CI reads the ratios by name, and who doubts one reads the turns."""
    turns = full_house()
    content = report_of(turns).as_dict()
    assert {key for key in content if "_vs_" in key} == set(PAIRS)
    assert len(content["turns"]) == len(turns)
    assert content["bars"]["verdict"] == "PASS"


def test_standings_are_medians_in_order_of_appearance() -> None:
    """One disturbed turn would become the figure in the table."""
    turns = [turn(PRODUCER, rate, cpu=1) for rate in (100, 300, 200)] + [turn(NATS_ASYNC, 50)]
    first, second = standings(turns)
    assert (first.name, first.rounds, first.rate_per_s) == (PRODUCER, 3, pytest.approx(200))
    assert second.name == NATS_ASYNC


def test_nothing_moved_is_no_turn() -> None:
    """Nothing in no time would become a rate."""
    with pytest.raises(ValueError, match="moved 0 messages"):
        Turn("publish", "x", "file", 0, 0, 1.0, 1.0, 1.0, 1.0)


def test_tables_are_aligned() -> None:
    """Columns that do not line up are read wrong."""
    growth = [Growth("rate", 1_000, 512, 16, 1, 9.5, 1, 2, 0.1, 3, None, 12.0)]
    for lines in (standings_table(standings(full_house())), growth_table(growth)):
        ends = {len(line) for line in lines}
        assert len(ends) == 1
    assert "  -  " in growth_table(growth)[1]


def test_another_one_begins_each_round() -> None:
    """Whoever always runs after a heavy neighbour would look slower than it is."""
    contestants = [Contestant("p", name, 1, lambda: Spent(1, 1, 1, 1)) for name in "abc"]
    orders = ["".join(c.name for c in rotated(contestants, number)) for number in range(4)]
    assert orders == ["abc", "bca", "cab", "abc"]


@pytest.mark.parametrize(
    ("output", "rate"),
    [
        ("\nNATS JetStream asynchronous publisher stats: 42,516 msgs/sec ~ 21 MiB/sec ~ 23.52us\n", 42_516),
        ("NATS JetStream ordered ephemeral consumer stats: 950 msgs/sec ~ 39 MiB/sec", 950),
    ],
)
def test_the_peers_report_is_read(output: str, rate: int) -> None:
    """Another number of its report would be taken for its rate."""
    assert reported_rate(output) == rate


def test_a_report_without_a_rate_is_told() -> None:
    """A new version of the nats CLI may write another report."""
    with pytest.raises(TurnFailed, match="no rate"):
        reported_rate("done")


def test_a_missing_nats_cli_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A traceback, or a minute's work thrown away."""

    def missing() -> None:
        raise InfraError("the nats CLI is not there: run `python3 -m bench.setup --with nats`")

    monkeypatch.setattr(command, "nats_binary", missing)
    monkeypatch.setattr(command, "running", pytest.fail)
    assert command.main(["--quick"]) == command.NOT_MEASURED
    assert capsys.readouterr().err == (
        "bench-driver: the nats CLI is not there: run `python3 -m bench.setup --with nats`\n"
    )


def test_the_missing_nats_cli_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Whoever reads it must know what to type."""
    monkeypatch.setattr(natscli.sys, "executable", f"{tmp_path}/python")
    monkeypatch.setenv("JETLAG_CACHE", str(tmp_path))
    with pytest.raises(InfraError, match="--with nats"):
        natscli.nats_binary()


@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_a_senseless_number_is_refused(value: str) -> None:
    """Zero rounds would measure nothing."""
    with pytest.raises(SystemExit):
        command.main(["--rounds", value])


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_every_step_of_the_growth_can_be_built(step: Step) -> None:
    """An event that does not fit its size would end the run after minutes."""
    load = Load(step.rate_per_s * 10, step.payload_bytes, step.partitions)
    shape = load.shape()
    assert len(shape.subjects) == step.partitions
    frames = EventFrames(shape, load.payload_bytes)
    seqs = seq_range(1, 3)
    assert bytes(frames.build(seqs, seqs, seqs)).count(b" %d\r\n{" % step.payload_bytes) == 3
