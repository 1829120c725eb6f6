"""Which fault a case can suffer, and what must then hold: told before the run, in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bench.case import Case
from bench.fault.spec import Fault, FaultError, Target
from bench.gates import Gate
from bench.infra.small_disk import may_mount

#: From the first event to the first fault, and from one fault's end to the next or to the last event.
CALM_S = 4.0
#: A JVM's first windows come late; what is calm shows after them.
ENGINE_CALM_S = 12.0
RECOVERY_S = 6.0
ENGINE_RECOVERY_S = 15.0
#: A JVM that starts beside all the rest on two cores, and then works off what has come meanwhile.
ENGINE_START_S = 75.0
#: After the last fault the rest may come when the load is over: the record tells which it was.
LAST_RECOVERY_S = 15.0
#: Streams in memory do not come back: nothing more will come out, so a long wait would bring nothing.
_DRAIN_AFTER_LOSS_S = 10.0
#: Between the producer and the stream: what they hold back is stored when its time is long past …
_DELAYS_EVENTS = ("producer", "nats", "nats-leader")
#: … and then it takes a moment until all of it is.
_CATCH_UP_S = 1.0

TARGETS_OF: dict[str, tuple[Target, ...]] = {
    "A": ("nats", "nats-leader", "producer"),
    "B": ("nats", "nats-leader", "tidb", "writer", "producer"),
    "C": ("nats", "engine", "producer"),
    "D": ("nats", "tidb", "engine", "writer", "producer"),
    "E": ("nats", "tidb", "engine", "sink", "producer"),
    "F": ("nats", "tidb", "engine", "producer"),
}

#: Engines that read through an address of this machine, so that a proxy can stand before them.
_PROXIED_ENGINES = ("spark", "bento")

#: Of an ordinary run; a fault is there to break them.
_PACE = ("rate_match", "lag_slope_share", "lag_max", "latency_p99_ratio", "late")
_STEADY = ("producer_rate_share", "slip_ms_p99", "engine_down", "sink_down")


@dataclass(frozen=True)
class Expectation:
    """What the ledger must show after the faults."""

    exact: bool
    told: str


def refusal(fault: Fault, case: Case, provider: str) -> str | None:
    """Why this fault cannot be done to this case, if so."""
    targets = TARGETS_OF[case.letter]
    if fault.target not in targets:
        return f"case {case.letter} has no {fault.target}; it has {', '.join(targets)}"
    if fault.target == "nats-leader" and case.transport.replicas == 1:
        return "one server has no leader; use --replicas 3, which runs the case on a cluster of three"
    if fault.target == "nats-leader" and fault.kind not in ("kill", "pause"):
        return f"{fault.kind} is for links to clients; the leader is killed or paused"
    if provider == "external" and fault.target in ("nats", "nats-leader", "tidb"):
        return "an external service is not ours to hurt; use --infra=local or containers"
    proxied = fault.kind in ("cut", "slow")
    if proxied and provider != "local":
        return f"{fault.kind} puts a proxy before an embedded service; use --infra=local"
    if proxied and case.windows is not None and case.variant not in _PROXIED_ENGINES:
        return f"{fault.kind} needs an engine that runs as a process here; {case.variant} does not"
    if fault.kind == "disk-full":
        return _disk_refusal(fault, case, provider)
    return _memory_refusal(fault, case)


def _disk_refusal(fault: Fault, case: Case, provider: str) -> str | None:
    if fault.target != "nats" or case.letter not in "AB":
        return "only the store of NATS can be filled, and only in the cases A and B"
    if case.transport.storage != "file":
        return "streams in memory have no disk to fill; use --storage file"
    if provider != "local":
        return "the small disk is made for an embedded server; use --infra=local"
    if not may_mount():
        return (
            "a small disk is a tmpfs, and this process may not mount one (a limit of JetStream's own is "
            "another thing: the server would refuse messages by rule, not find its disk full)"
        )
    return None


def _memory_refusal(fault: Fault, case: Case) -> str | None:
    loses = (fault.target, fault.kind) == ("nats", "kill") and case.transport.storage == "memory"
    if loses and case.letter != "A":
        return (
            "a killed server forgets streams in memory, and what reads them by their numbers (an engine, the "
            "writer) would take new messages for old ones; use --storage file, or case A"
        )
    return None


def expectation(faults: Sequence[Fault], case: Case) -> Expectation:
    forgets = any((fault.target, fault.kind) == ("nats", "kill") for fault in faults)
    if forgets and case.transport.storage == "memory":
        return Expectation(
            exact=False,
            told="streams in memory end with the server: exactly the acknowledged messages that it held and "
            "had not delivered are lost, and no other",
        )
    if case.variant == "bento" and any(fault.target == "engine" for fault in faults):
        return Expectation(True, "nothing is lost; Bento's windows count at least once")
    return Expectation(True, "no acknowledged message is lost, nothing is doubled, every value is right")


def recovery_s(case: Case, fault: Fault) -> float:
    """How long after a fault's end the next thing may happen."""
    if fault.target == "engine" and fault.kind == "kill":
        return ENGINE_START_S
    return ENGINE_RECOVERY_S if case.windows is not None and fault.kind in ("kill", "cut") else RECOVERY_S


def placed(faults: Sequence[Fault], case: Case) -> list[Fault]:
    """The faults with a time each; those without one follow each other with room to recover."""
    at_s = case.load.warmup_s + (CALM_S if case.windows is None else ENGINE_CALM_S)
    done: list[Fault] = []
    for fault in faults:
        whole = fault if fault.at_s is not None else replace(fault, at_s=at_s)
        assert whole.at_s is not None
        done.append(whole)
        at_s = whole.at_s + whole.duration_s + recovery_s(case, whole)
    return sorted(done, key=lambda fault: fault.at_s or 0.0)


def check_order(faults: Sequence[Fault]) -> None:
    """Two at once could not be told apart in the figures."""
    for first, second in pairwise(faults):
        assert first.at_s is not None
        assert second.at_s is not None
        if first.at_s + first.duration_s > second.at_s:
            raise FaultError(f"{second} begins before {first} is over; one at a time")


def faulted_case(case: Case, faults: Sequence[Fault]) -> Case:
    """The case as it runs with these faults (see `placed`): long enough, with ids, judged by its ledger."""
    last = faults[-1]
    assert last.at_s is not None
    room_s = min(recovery_s(case, last), LAST_RECOVERY_S)
    needed_s = last.at_s + last.duration_s + room_s - case.load.warmup_s
    load = replace(case.load, measure_s=max(case.load.measure_s, int(needed_s + 0.999)))
    # What a driver publishes again after a break must be stored once.
    transport = replace(case.transport, message_ids=True)
    windows = case.windows
    if windows is not None and case.variant == "spark":
        # By the event's clock every single row has a known truth.
        windows = replace(windows, clock="event", lateness_s=windows.lateness_s + _held_back_s(faults))
    expected = expectation(faults, case)
    return replace(
        case,
        load=load,
        transport=transport,
        windows=windows,
        gates=_gates(case, expected, len(faults)),
        drain_s=max(case.drain_s, 120.0) if expected.exact else _DRAIN_AFTER_LOSS_S,
    )


def _held_back_s(faults: Sequence[Fault]) -> int:
    """How late events are that a fault keeps from being stored: who expects that waits for them, or windows
    close without them and they are dropped as late.
    """
    longest_s = max((fault.duration_s for fault in faults if fault.target in _DELAYS_EVENTS), default=0.0)
    return math.ceil(longest_s + _CATCH_UP_S) if longest_s else 0


def _gates(case: Case, expected: Expectation, faults: int) -> tuple[Gate, ...]:
    kept = [gate for gate in case.gates if gate.metric not in (*_PACE, *_STEADY)]
    if not expected.exact:
        why = "what was lost is exactly what the server held in memory"
        # A message whose answer died with the server is published again; nothing knows the first copy.
        kept = [gate for gate in kept if gate.metric not in ("lost", "duplicates")]
        kept.append(Gate("lost_unexplained", "==", 0, why))
    if "at least once" in expected.told:
        kept = [gate for gate in kept if gate.metric not in ("duplicates", "wrong")]
    return (
        *kept,
        Gate("faults_done", "==", faults, "every fault took place", kind="validity"),
        Gate("faults_recovered", "==", faults, "lag came back into its band after every fault"),
    )
