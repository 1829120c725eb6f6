"""The soak's gates, by sabotage: each kind of drift turns a steady soak red, and too little is no pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.gates import evaluate
from bench.transport.drift import drift_gates, drift_metrics
from bench.transport.soak_samples import SoakSample, leader_changes
from bench.verdict import Verdict

LEDGER = {"unanswered": 0, "lost": 0, "duplicates": 0, "out_of_order": 0, "refused": 0}
GATES = drift_gates(150, disk=True, wide=False)


def steady(count: int = 40) -> list[SoakSample]:
    return [
        SoakSample(
            t_s=10.0 * i,
            acked=1500 * i,
            received=1500 * i - 3,
            p50_ms=4.0,
            p99_ms=30.0 + i % 3,
            rss_bytes=500_000_000 + 1_000 * (i % 5),
            disk_bytes=150_000_000,
            stored_bytes=45_000_000,
            leaders={"S": "n1"},
            replica_lag=1,
            server_errors=0,
        )
        for i in range(count)
    ]


def judged(samples: list[SoakSample]):
    return evaluate(GATES, {**drift_metrics(samples, 3), **LEDGER})


def test_a_steady_soak_passes():
    """Gates that no soak can pass would be switched off."""
    assert judged(steady()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        (lambda i: {"p99_ms": 30.0 + 5 * i}, "p99_later_quarters_ratio"),
        (lambda i: {"p99_ms": 30.0 + 5 * i}, "p99_drift_share"),
        (lambda i: {"acked": int(1500 * i - 12 * i * i)}, "rate_later_quarters_ratio"),
        (lambda i: {"rss_bytes": 500_000_000 + 10_000_000 * i}, "rss_drift_share"),
        (lambda i: {"disk_bytes": 150_000_000 + 10_000_000 * i}, "disk_share"),
        (lambda i: {"leaders": {"S": "n1" if i < 20 else "n2"}}, "leader_changes"),
        (lambda i: {"server_errors": int(i > 30)}, "server_errors"),
        (lambda i: {"replica_lag": 5000 if i == 9 else 0}, "replica_lag_max"),
        (lambda i: {"received": 1500 * i - (9000 if i == 9 else 0)}, "unread_max"),
    ],
)
def test_each_drift_turns_it_red(change, metric):
    """A soak would stay green while the cluster slowly fell apart."""
    samples = [replace(one, **change(i)) for i, one in enumerate(steady())]
    report = judged(samples)
    assert report.verdict is Verdict.FAIL
    assert metric in {violation.metric for violation in report.violations}


def test_memory_is_judged_once_the_streams_are_full():
    """A soak would be red because its streams filled up, or green although memory goes on growing."""
    filling = [
        replace(one, stored_bytes=min(45, 3 * i) * 1_000_000, rss_bytes=min(500, 100 + 27 * i) * 1_000_000)
        for i, one in enumerate(steady())
    ]
    assert judged(filling).verdict is Verdict.PASS
    leaking = [replace(one, rss_bytes=one.rss_bytes + 30_000_000 * i) for i, one in enumerate(filling)]
    assert "rss_drift_share" in {violation.metric for violation in judged(leaking).violations}


def test_a_soak_that_was_cut_off_at_once_is_invalid():
    """Nothing measured would count as nothing wrong."""
    assert judged(steady(3)).verdict is Verdict.INVALID


def test_a_leader_change_is_told_with_its_time():
    """A reader could not find the moment in the servers' logs."""
    samples = steady(4)
    samples[2] = replace(samples[2], leaders={"S": "n3"})
    assert leader_changes(samples)[0] == {"t_s": 20.0, "stream": "S", "from": "n1", "to": "n3"}
