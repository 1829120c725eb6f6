"""--fault: what is written is what is done, and what cannot be done is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.cases import case_a, case_b, case_c, case_d, case_e, case_f
from bench.fault.spec import (
    DEFAULT_DURATION_S,
    KINDS,
    MAX_DURATION_S,
    MAX_TIME_S,
    MIN_DURATION_S,
    TARGETS,
    Fault,
    FaultError,
    parse_fault,
)
from bench.fault.support import (
    LAST_RECOVERY_S,
    TARGETS_OF,
    check_order,
    expectation,
    faulted_case,
    placed,
    recovery_s,
    refusal,
)
from bench.settings import RawOptions, UsageError, check_options

relaxed = hypothesis_settings(deadline=None)  # a busy machine is no finding
CASES = {
    "A": case_a,
    "B": case_b,
    "C": lambda settings: case_c(settings, "spark"),
    "D": lambda settings: case_d(settings, "spark"),
    "E": lambda settings: case_e(settings, "spark"),
    "F": lambda settings: case_f(settings, "spark"),
}

faults = st.builds(
    Fault,
    st.sampled_from(TARGETS),
    st.sampled_from(KINDS),
    st.none() | st.integers(0, int(MAX_TIME_S * 1000)).map(lambda ms: ms / 1000),
    st.integers(int(MIN_DURATION_S * 1000), int(MAX_DURATION_S * 1000)).map(lambda ms: ms / 1000),
)


def case_of(letter: str, **options: str):
    return CASES[letter](check_options(RawOptions(**options)))


def written(fault: Fault) -> str:
    at = "" if fault.at_s is None else f"@{round(fault.at_s * 1000)}ms"
    return f"{fault.name}{at}/{round(fault.duration_s * 1000)}ms"


@relaxed
@given(faults)
def test_a_written_fault_is_read_back(fault: Fault) -> None:
    """If this fails, another fault is done than the one that was asked for."""
    assert parse_fault(written(fault)) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("engine:kill", Fault("engine", "kill", None, DEFAULT_DURATION_S)),
        ("tidb:pause@5", Fault("tidb", "pause", 5.0, DEFAULT_DURATION_S)),
        ("nats:cut@1.5s/2m", Fault("nats", "cut", 1.5, 120.0)),
        ("nats-leader:slow/800ms", Fault("nats-leader", "slow", None, 0.8)),
        ("nats:disk-full@0/0.05", Fault("nats", "disk-full", 0.0, 0.05)),
    ],
)
def test_the_forms_of_the_help(text: str, fault: Fault) -> None:
    """If this fails, the help's examples do not work."""
    assert parse_fault(text) == fault
    assert parse_fault(str(fault)) == fault


@relaxed
@given(st.text() | st.from_regex(r"[a-z-]{0,8}[:@/]?[a-z-]{0,8}[@/]?[0-9.]{0,9}[a-z]{0,2}/?.*"))
def test_any_text_is_a_fault_or_one_line(text: str) -> None:
    """If this fails, a slip of the finger is a traceback, or a fault that nobody asked for."""
    refused = ""
    try:
        fault = parse_fault(text)
    except FaultError as error:
        refused = str(error)
        fault = Fault("nats", "kill")
        assert refused != ""
    assert "\n" not in refused
    assert fault.target in TARGETS
    assert fault.kind in KINDS
    assert fault.at_s is None or 0 <= fault.at_s <= MAX_TIME_S
    assert MIN_DURATION_S <= fault.duration_s <= MAX_DURATION_S


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("engine", "wanted TARGET:KIND[@TIME][/DURATION]"),
        ("motor:kill", "the target is one of nats, nats-leader, tidb, engine, writer, producer, sink"),
        ("engine:tickle", "the kind is one of kill, pause, cut, slow, disk-full"),
        ("engine:kill@soon", "TIME reads like 800ms, 4.5s or 2m"),
        ("engine:kill/0", "DURATION must be 0.05 s to 3600 s"),
        ("engine:kill@5/", "DURATION reads like"),
        ("engine:kill@-1", "TIME reads like"),
        ("engine:kill@\u0665", "TIME reads like"),
        ("engine:kill\n", "the kind is one of"),
    ],
)
def test_a_bad_fault_names_option_and_value(text: str, said: str) -> None:
    """If this fails, a user has to guess which option will not do."""
    with pytest.raises(UsageError) as caught:
        check_options(RawOptions(fault=[text]))
    line = str(caught.value)
    assert line.startswith("--fault ")
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize("letter", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_target_that_a_case_lacks_is_refused(letter: str, target) -> None:
    """If this fails, a run without its fault passes as one that lived through it."""
    why = refusal(Fault(target, "pause"), case_of(letter, storage="file", replicas="3"), "local")
    assert (why is None) == (target in TARGETS_OF[letter])


@pytest.mark.parametrize(
    ("letter", "fault", "provider", "storage", "said"),
    [
        ("B", Fault("nats", "kill"), "external", "file", "not ours to hurt"),
        ("B", Fault("nats", "cut"), "containers", "file", "use --infra=local"),
        ("B", Fault("nats", "disk-full"), "local", "memory", "no disk to fill"),
        ("B", Fault("tidb", "disk-full"), "local", "file", "only the store of NATS"),
        ("D", Fault("nats", "kill"), "local", "memory", "forgets streams in memory"),
        ("A", Fault("nats-leader", "kill"), "local", "file", "use --replicas 3"),
        ("C", Fault("nats-leader", "kill"), "local", "file", "case C has no nats-leader"),
    ],
)
def test_what_cannot_be_done_here_is_refused(letter, fault, provider, storage, said) -> None:
    """If this fails, a run starts that can only end in confusion."""
    assert said in (refusal(fault, case_of(letter, storage=storage), provider) or "")


def test_a_small_disk_needs_the_right_to_mount(monkeypatch) -> None:
    """If this fails, a limit of JetStream's own is sold as a full disk."""
    monkeypatch.setattr("bench.fault.support.may_mount", lambda: False)
    why = refusal(Fault("nats", "disk-full"), case_of("B", storage="file"), "local") or ""
    assert "may not mount" in why
    assert "refuse messages by rule" in why


def test_a_fault_on_a_leader_wants_a_cluster() -> None:
    """If this fails, the only server there is is killed under the name of a leader."""
    with pytest.raises(UsageError, match=r"--replicas 1: .* wants a cluster: --replicas 3"):
        check_options(RawOptions(fault=["nats-leader:kill"]))
    assert check_options(RawOptions(fault=["nats-leader:kill"], replicas="3")).needs_cluster
    case = case_of("A", storage="file", replicas="3")
    assert refusal(Fault("nats-leader", "kill"), case, "local") is None
    assert "links to clients" in (refusal(Fault("nats-leader", "cut"), case, "local") or "")


def test_the_loss_that_must_be_is_told_before() -> None:
    """If this fails, a loss that nobody announced is waved through, or an announced one fails the run."""
    kill = [Fault("nats", "kill")]
    in_memory, on_file = case_of("A"), case_of("A", storage="file")
    assert not expectation(kill, in_memory).exact
    assert "exactly the acknowledged messages" in expectation(kill, in_memory).told
    assert expectation(kill, on_file).exact
    assert expectation([Fault("nats", "pause")], in_memory).exact
    metrics = {gate.metric for gate in faulted_case(in_memory, placed(kill, in_memory)).gates}
    assert "lost_unexplained" in metrics
    assert "lost" not in metrics
    assert "lost" in {gate.metric for gate in faulted_case(on_file, placed(kill, on_file)).gates}


@pytest.mark.parametrize("letter", CASES)
def test_a_hurt_case_is_judged_by_its_ledger(letter: str) -> None:
    """If this fails, a run with a fault fails for being slow, or passes with rows lost."""
    case = case_of(letter, storage="file")
    planned = placed([Fault("producer", "pause"), Fault("nats", "kill")], case)
    hurt = faulted_case(case, planned)
    metrics = {gate.metric for gate in hurt.gates}
    kept = {"lost", "duplicates", "unexpected", "driver_errors", "publishes_unanswered"}
    assert kept <= metrics
    assert not metrics & {"lag_max", "rate_match", "engine_down", "sink_down", "slip_ms_p99"}
    assert {"faults_done", "faults_recovered"} <= metrics
    assert hurt.transport.message_ids
    last = planned[-1]
    room_s = hurt.load.warmup_s + hurt.load.measure_s - last.at_s - last.duration_s
    assert room_s >= min(recovery_s(case, last), LAST_RECOVERY_S)


@pytest.mark.parametrize(
    ("fault", "lateness_s"),
    [
        (Fault("producer", "pause", duration_s=2.0), 4),
        (Fault("nats", "cut", duration_s=2.5), 5),
        (Fault("engine", "kill", duration_s=9.0), 1),
    ],
    ids=str,
)
def test_windows_wait_for_what_a_fault_holds_back(fault: Fault, lateness_s: int) -> None:
    """If this fails, events that a stalled producer sends late are dropped as late and count as lost."""
    case = case_of("C", storage="file")
    hurt = faulted_case(case, placed([fault], case))
    assert hurt.windows is not None
    assert (hurt.windows.clock, hurt.windows.lateness_s) == ("event", lateness_s)


def test_bento_counts_at_least_once() -> None:
    """If this fails, an engine is held to a promise that it does not make, or Spark let off its own."""
    fault = [Fault("engine", "kill")]
    spark = case_of("D", storage="file")
    bento = replace(spark, variant="bento")
    assert "duplicates" in {gate.metric for gate in faulted_case(spark, placed(fault, spark)).gates}
    gates = {gate.metric for gate in faulted_case(bento, placed(fault, bento)).gates}
    assert "duplicates" not in gates
    assert "lost" in gates


@relaxed
@given(st.lists(st.sampled_from([Fault("nats", "pause"), Fault("tidb", "kill", None, 1.0)]), min_size=1))
def test_faults_without_a_time_follow_each_other(planned) -> None:
    """If this fails, two faults overlap and neither can be measured."""
    case = case_of("B", storage="file")
    check_order(placed(planned, case))


def test_two_at_once_are_refused() -> None:
    """If this fails, the recovery from one fault is measured in the middle of another."""
    case = case_of("B")
    both = [Fault("tidb", "pause", 3.0, 2.0), Fault("nats", "pause", 4.0, 2.0)]
    with pytest.raises(FaultError, match="one at a time"):
        check_order(placed(both, case))
