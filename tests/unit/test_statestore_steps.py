"""The workflow engine of the statestore suite, on a store in memory: messages, timers, metrics, replays."""

from __future__ import annotations

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.statestore.ledger import account, judge
from bench.statestore.load import Launch, message
from bench.verdict import Verdict
from spark_jobs.statestore.keys import TOTALS, due_ms_of, metrics_key, task_run_key, timer_key, workflow_key
from spark_jobs.statestore.messages import Message, decode, encode, task_print
from spark_jobs.statestore.steps import OutOfOrderError, Steps, rounds
from spark_jobs.statestore.values import decode_totals, decode_window, window_start_ms, workflow_of
from tests.unit.memory_store import MemoryStore

TIMEOUT_MS = 1_000
T0 = 1_800_000_000_000


def sent(launch: Launch) -> list[tuple[int, Message]]:
    return [(seq, message(launch, what, T0)) for seq, what in enumerate(launch.order(), 1)]


def run(store: MemoryStore, numbered, batch_ms: int, fire: bool = False):
    steps = Steps(store, batch_ms, TIMEOUT_MS, now_ms=lambda: batch_ms)
    steps.messages(numbered)
    if fire:
        steps.fire()
    return steps.close().outputs


def play(launch: Launch, batch: int, crash_at: int | None = None):
    """All of a launch in batches, timers after each; a crash rolls one batch back and runs it again."""
    store, told, numbered = MemoryStore(), {}, sent(launch)
    now_ms = T0
    for number, low in enumerate(range(0, len(numbered), batch)):
        now_ms += 100
        before = copy.deepcopy(store.held)
        for _ in range(2 if number == crash_at else 1):
            store.held = copy.deepcopy(before)
            for output in run(store, numbered[low : low + batch], now_ms, fire=True):
                told[f"{output.number}|{output.kind}|{output.of}"] = {"kind": output.kind, "of": output.of}
    for output in run(store, [], now_ms + TIMEOUT_MS, fire=True):
        told[f"{output.number}|{output.kind}|{output.of}"] = {"kind": output.kind, "of": output.of}
    return store, list(told.values())


def audit_of(store: MemoryStore):
    """What spark_jobs.statestore.audit finds in the real one."""
    kinds: dict[tuple[str, str | None], dict] = {}
    differ = 0
    for key, value in store.held.items():
        kind = key.split("/")[0]
        letter = value[:1].decode() if kind in ("workflow", "taskrun") else None
        empty = {"kind": kind, "letter": letter, "count": 0, "bytes": 0, "torn": 0, "print": 0}
        row = kinds.setdefault((kind, letter), empty)
        row["count"] += 1
        row["bytes"] += len(key) + len(value)
        if kind == "t":
            workflow, _, task = value.decode().rpartition("/")
            row["print"] += task_print(workflow, int(task))
        if kind == "workflow":
            runs = [store.held[one][:1] for one in store.held if one.startswith(f"taskrun/{key[9:]}/")]
            workflow = workflow_of(value)
            differ += (workflow.completed, workflow.failed) != (runs.count(b"C"), runs.count(b"F"))
    totals = json.loads(store.held[TOTALS])
    return {"kinds": list(kinds.values()), "totals": [totals], "workflows_that_differ": differ}


@pytest.mark.parametrize("crash_at", [None, 0, 3])
def test_every_workflow_ends_once(crash_at):
    """A workflow would end twice or never, also when a batch is run again after a crash."""
    launch = Launch(7, 20, "0badcafe", tasks=10, stuck_every=16)
    store, told = play(launch, 23, crash_at)
    metrics = account(launch.truth, told, audit_of(store))
    assert judge(metrics).verdict is Verdict.PASS, judge(metrics).violations
    assert metrics["time_outs"] == 4
    assert metrics["timers"] == 70


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(2, 30), st.integers(1, 60), st.integers(0, 8))
def test_the_ledger_closes_for_any_launch(workflows, tasks, stuck_every, batch, crash_at):
    """A size of batch or a crash at a certain batch would lose or double something."""
    launch = Launch(workflows, 5, "0badcafe", tasks=tasks, stuck_every=stuck_every)
    store, told = play(launch, batch, crash_at)
    assert judge(account(launch.truth, told, audit_of(store))).verdict is Verdict.PASS


def test_timers_fire_in_time_order_and_leave_the_rest():
    """A timer that is not due would fire, or one that is due stay."""
    store = MemoryStore()
    launch = Launch(3, 5, "0badcafe", tasks=2, stuck_every=1_000)
    numbered = sent(launch)
    run(store, numbered[:6], T0)  # three workflows, three tasks started
    run(store, [(9, Message("task-start", launch.name_of(0), T0, 1))], T0 + 500)
    outputs = run(store, [], T0 + TIMEOUT_MS, fire=True)
    assert [output.of for output in outputs] == [f"{launch.name_of(number)}/0" for number in range(3)]
    left = [key for key in store.held if due_ms_of(key) is not None]
    assert left == [timer_key(T0 + 500 + TIMEOUT_MS, 9)]
    assert store.held[task_run_key(launch.name_of(0), 0)][:1] == b"F"


def test_a_completion_after_the_time_out_is_late():
    """A task that was given up would be counted twice: failed, then completed."""
    store = MemoryStore()
    launch = Launch(1, 5, "0badcafe", tasks=1)
    begin, start, complete = sent(launch)
    run(store, [begin, start], T0)
    assert [output.kind for output in run(store, [], T0 + TIMEOUT_MS, fire=True)] == ["timed-out", "ended"]
    assert run(store, [complete], T0 + TIMEOUT_MS) == []
    totals = decode_totals(store.held[TOTALS])
    assert (totals.late, totals.completes, totals.ended) == (1, 0, 1)


def test_a_message_of_nobody_is_stray():
    """A step without its workflow would be made up, and the ledger would still close."""
    store = MemoryStore()
    run(store, [(1, Message("task-start", "0badcafe-00000009", T0, 0))], T0)
    assert decode_totals(store.held[TOTALS]).stray == 1
    assert workflow_key("0badcafe-00000009") not in store.held


def test_another_order_of_keys_is_an_error():
    """Should Spark lay its keys out differently, timers would be missed in silence."""
    store = MemoryStore(order=lambda key: (len(key), key[::-1]))
    # Times whose digits read backwards stand in another order.
    for due_ms, seq in ((0x10000000001, 0x12), (0x10000000002, 0x11)):
        store.put(timer_key(due_ms, seq), b"0badcafe-00000001/1")
    with pytest.raises(OutOfOrderError):
        run(store, [], 0x20000000000, fire=True)


def test_metrics_have_their_fields():
    """Somebody who reads the windows by their published names would find others."""
    store = MemoryStore()
    launch = Launch(2, 5, "0badcafe", tasks=1)
    run(store, sent(launch), T0 + 40)
    window_ms = window_start_ms(T0 + 40)
    held = json.loads(store.held[metrics_key(window_ms)])
    assert held == {
        "timestamp": window_ms,
        "totalTaskStarts": 2,
        "totalTaskStartLatency": 80,
        "maxTaskStartLatency": 40,
        "totalTaskCompletes": 2,
        "totalTaskCompleteLatency": 80,
        "maxTaskCompleteLatency": 40,
        "messagesProcessed": 6,
    }
    assert window_ms % 30_000 == 0


def test_windows_of_partitions_are_joined():
    """A window over several partitions would show one of them."""
    one = decode_window(b'{"timestamp":30000,"totalTaskStarts":2,"maxTaskStartLatency":7}')
    one.add(decode_window(b'{"timestamp":30000,"totalTaskStarts":3,"maxTaskStartLatency":5}'))
    assert (one.total_task_starts, one.max_task_start_latency, one.timestamp) == (5, 7, 30_000)


def test_a_round_has_each_workflow_once():
    """A step would not see what the step before it wrote."""
    names = random.Random(1).choices([f"0badcafe-{number:08d}" for number in range(400)], k=3_000)
    numbered = [(seq, Message("task-start", name, T0)) for seq, name in enumerate(names)]
    parts = list(rounds(numbered))
    assert [one for part in parts for one in part] == numbered
    assert all(len({message.workflow for _, message in part}) == len(part) <= 256 for part in parts)


def test_all_other_keys_come_after_the_timers():
    """A scan for timers would meet another object first and stop."""
    name = Launch(1, 1, "ffffffff").name_of(99_999_999)
    others = [workflow_key(name), task_run_key(name, 0), metrics_key(0), TOTALS]
    assert all(len(key) > len(timer_key(2**43, 2**39)) for key in others)
    assert all(due_ms_of(key) is None for key in others)


@given(st.integers(0, 16**11 - 1), st.integers(0, 16**10 - 1), st.integers(0, 16**11 - 1))
def test_timer_keys_sort_by_time(due_ms, seq, other_ms):
    """Range scans go by the bytes of the keys."""
    assert due_ms_of(timer_key(due_ms, seq)) == due_ms
    if due_ms < other_ms:
        assert timer_key(due_ms, seq) < timer_key(other_ms, 0)


@given(
    st.builds(
        Message,
        st.sampled_from(["workflow", "task-start", "task-complete", "grow"]),
        st.just("0badcafe-00000001"),
        st.integers(0, 2**50),
        st.integers(0, 999),
        st.text(max_size=50),
    )
)
def test_messages_go_round(given_message):
    """A message would arrive as another one."""
    assert decode(encode(given_message)) == given_message
