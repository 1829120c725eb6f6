"""Whether a soak drifted: later quarters against the first, and robust slopes over all of it. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise

from bench import stats
from bench.gates import Gate
from bench.transport.soak_samples import SoakSample, leader_changes

#: Below this a change of p99 is the scheduler's, not the cluster's.
P99_FLOOR_MS = 20.0
#: A Go server's heap breathes by tens of megabytes.
RSS_FLOOR_BYTES = 256 * 1024 * 1024
#: Logs, RAFT's own log and indexes, beside the messages.
DISK_FLOOR_BYTES = 128 * 1024 * 1024
MIN_SAMPLES = 8
#: A stream at this share of its most is full: it discards block by block, so it breathes a little.
FULL_SHARE = 0.95

Metrics = dict[str, float | int | None]


def drift_metrics(samples: Sequence[SoakSample], replicas: int) -> Metrics:
    """None where there was too little to say: a gate then calls the soak invalid, not stable."""
    p99s = [(one.t_s, one.p99_ms) for one in samples if one.p99_ms is not None]
    rates = _rates(samples)
    return {
        "samples": len(samples),
        "p99_ms_first_quarter": _or_none(_quarter_medians([p99 for _, p99 in p99s]), 0),
        "p99_later_quarters_ratio": _later_ratio([p99 for _, p99 in p99s], P99_FLOOR_MS, worst=max),
        "p99_drift_share": _drift_share(p99s, P99_FLOOR_MS),
        "rate_later_quarters_ratio": _later_ratio([rate for _, rate in rates], 1e-9, worst=min),
        "rate_drift_share": _drift_share(rates, 1e-9),
        "rss_drift_share": _drift_share(
            [(one.t_s, float(one.rss_bytes)) for one in once_full(samples) if one.rss_bytes is not None],
            RSS_FLOOR_BYTES,
        ),
        "disk_share": _disk_share(samples, replicas),
        "leader_changes": len(leader_changes(samples)),
        "server_errors": max((one.server_errors for one in samples), default=None),
        "replica_lag_max": max((one.replica_lag for one in samples), default=None),
        "unread_max": max((one.acked - one.received for one in samples), default=None),
    }


def drift_gates(rate_per_s: int, disk: bool, wide: bool) -> tuple[Gate, ...]:
    """`wide` for runs of seconds, which show that the soak works, not that the cluster is stable."""
    p99, rate, growth = (20.0, 0.5, 3.0) if wide else (3.0, 0.9, 0.5)
    gates = [
        Gate("samples", ">=", MIN_SAMPLES, "enough to compare quarters", kind="validity"),
        Gate("unanswered", "==", 0, "every message planned was acknowledged", kind="validity"),
        Gate("lost", "==", 0, "every subscriber got every acknowledged message"),
        Gate("duplicates", "==", 0, "no subscriber got a message twice"),
        Gate("out_of_order", "==", 0, "every subscriber got them in order"),
        Gate("refused", "==", 0, "JetStream took every message"),
        Gate("p99_later_quarters_ratio", "<=", p99, "p99 of later quarters against the first"),
        Gate("p99_drift_share", "<=", p99 - 1, "p99 does not climb (robust slope over all ÷ first quarter)"),
        Gate("rate_later_quarters_ratio", ">=", rate, "throughput of later quarters against the first"),
        Gate("rate_drift_share", ">=", rate - 1, "throughput does not sink (robust slope)"),
        Gate("rss_drift_share", "<=", growth, "the servers' memory does not grow without end"),
        Gate("leader_changes", "==", 0, "no stream changed its leader"),
        Gate("server_errors", "==", 0, "no server logged an error"),
        Gate("replica_lag_max", "<=", 10 * rate_per_s, "followers keep up"),
        Gate("unread_max", "<=", 10 * rate_per_s, "subscribers keep up"),
    ]
    if disk:
        gates.append(Gate("disk_share", "<=", 2.0, "disk in use ÷ (bytes of the streams × replicas)"))
    return tuple(gates)


def once_full(samples: Sequence[SoakSample]) -> Sequence[SoakSample]:
    """The samples from when the streams held what they may hold: until then memory grows because data does.

    All of them where the streams did not fill up early enough to judge the rest.
    """
    most = max((one.stored_bytes for one in samples), default=0)
    first = next((i for i, one in enumerate(samples) if one.stored_bytes >= FULL_SHARE * most), 0)
    return samples[first:] if len(samples) - first >= MIN_SAMPLES else samples


def _rates(samples: Sequence[SoakSample]) -> list[tuple[float, float]]:
    """Acknowledged per second between neighbouring samples."""
    return [
        (after.t_s, (after.acked - before.acked) / (after.t_s - before.t_s))
        for before, after in pairwise(samples)
        if after.t_s > before.t_s
    ]


def _quarter_medians(values: Sequence[float]) -> list[float]:
    if len(values) < 4:
        return []
    edges = [round(len(values) * part / 4) for part in range(5)]
    return [statistics.median(values[start:end]) for start, end in pairwise(edges)]


def _later_ratio(
    values: Sequence[float], floor: float, worst: Callable[[Sequence[float]], float]
) -> float | None:
    quarters = [max(floor, median) for median in _quarter_medians(values)]
    if not quarters:
        return None
    return worst([later / quarters[0] for later in quarters[1:]])


def _drift_share(points: Sequence[tuple[float, float]], floor: float) -> float | None:
    """How much the robust line rises over the whole run, as a share of where it began."""
    quarters = _quarter_medians([value for _, value in points])
    if not quarters:
        return None
    with suppress(ValueError):
        times, values = [t for t, _ in points], [value for _, value in points]
        rise = stats.theil_sen_slope(times, values) * (times[-1] - times[0])
        return rise / max(floor, quarters[0])
    return None


def _disk_share(samples: Sequence[SoakSample], replicas: int) -> float | None:
    measured = [one for one in samples if one.disk_bytes is not None]
    if not measured:
        return None
    last = measured[-1]
    assert last.disk_bytes is not None
    return last.disk_bytes / max(DISK_FLOOR_BYTES, last.stored_bytes * replicas)


def _or_none(values: Sequence[float], index: int) -> float | None:
    return values[index] if len(values) > index else None
