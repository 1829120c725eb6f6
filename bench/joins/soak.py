"""The long run: a live case for minutes or hours, judged by its drift as the transport suite's soak is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.gates import Gate, evaluate
from bench.joins.outcome import JoinOutcome, Sample
from bench.joins.seconds import Second
from bench.transport.drift import Metrics, drift_gates, drift_metrics
from bench.transport.soak_samples import SoakSample

#: Of a soak's gates, those that a join can drift in; the ledger has gates of its own.
_DRIFTS = (
    "samples",
    "p99_later_quarters_ratio",
    "p99_drift_share",
    "rate_later_quarters_ratio",
    "rate_drift_share",
    "rss_drift_share",
)
SAMPLES = 60


def soak_samples(
    seconds: Sequence[Second], samples: Sequence[Sample], from_s: float, to_s: float
) -> list[SoakSample]:
    """The measured time in equal parts; memory is what was seen last in each."""
    width_s = max(2.0, (to_s - from_s) / SAMPLES)
    told: list[SoakSample] = []
    joined = 0
    end_s = from_s + width_s
    while end_s <= to_s:
        part = [one for one in seconds if end_s - width_s <= one.t_s < end_s]
        joined += sum(one.rows for one in part)
        p99s = sorted(one.p99_ms for one in part)
        seen = [one.memory_bytes for one in samples if one.t_s <= end_s and one.memory_bytes is not None]
        told.append(
            SoakSample(
                t_s=round(end_s - from_s, 1),
                acked=joined,
                received=joined,
                p50_ms=None,
                p99_ms=p99s[len(p99s) // 2] if p99s else None,
                rss_bytes=seen[-1] if seen else None,
                disk_bytes=None,
                stored_bytes=0,
                leaders={},
                replica_lag=0,
                server_errors=0,
            )
        )
        end_s += width_s
    return told


def with_drift(outcome: JoinOutcome, publish_s: float, wide: bool) -> JoinOutcome:
    """The outcome with its drift among its metrics and gates; `wide` for runs of seconds."""
    case = outcome.case
    told = soak_samples(outcome.seconds, outcome.samples, case.warmup_s, publish_s)
    drift: Metrics = drift_metrics(told, replicas=1)
    gates: list[Gate] = [
        gate for gate in drift_gates(case.rows_per_s or 0, disk=False, wide=wide) if gate.metric in _DRIFTS
    ]
    metrics = {**outcome.metrics, **{name: drift.get(name) for name in _DRIFTS}}
    return replace(outcome, metrics=metrics, report=evaluate([*case.gates(), *gates], metrics))
