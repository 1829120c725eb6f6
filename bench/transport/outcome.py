"""What a cell came to: rates, latency, cost, storage, ledger, and where its streams lay."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hdrh.histogram import HdrHistogram

from bench.gates import Gate, GateReport, evaluate
from bench.infra.nats_cluster import NatsCluster
from bench.infra.service import identity
from bench.latency import LatencyRecorder, LatencySummary
from bench.manifest import git_state, machine
from bench.transport.cell import Cell
from bench.transport.peer import PeerRates
from bench.transport.streams import TransportAdmin

LEDGER = ("lost", "duplicates", "out_of_order", "unexpected")

CELL_GATES = (
    Gate("unanswered", "==", 0, "every publish was answered", kind="validity"),
    Gate("received", ">=", 1, "something was measured", kind="validity"),
    Gate("refused", "==", 0, "JetStream took every message"),
    Gate("lost", "==", 0, "every subscriber got every acknowledged message"),
    Gate("duplicates", "==", 0, "no subscriber got a message twice"),
    Gate("out_of_order", "==", 0, "every subscriber got them in order"),
    Gate("unexpected", "==", 0, "nothing came that was not sent"),
    Gate("stored_missing", "==", 0, "the streams hold as many as were acknowledged"),
)


@dataclass(frozen=True)
class Spread:
    """min, avg, max and standard deviation over clients, as `nats bench` prints them."""

    lowest: float
    mean: float
    highest: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        if not values:
            return None
        return cls(min(values), statistics.fmean(values), max(values), statistics.pstdev(values))


@dataclass(frozen=True)
class CellOutcome:
    cell: Cell
    report: GateReport
    metrics: dict[str, float | int | None]
    #: Messages per second of each publisher, and of each subscriber.
    publishers: Spread | None
    subscribers: Spread | None
    placement: Mapping[str, Any]
    refused: Mapping[str, int]
    sync_interval: str
    peers: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["report"] = self.report.as_dict()
        return {"name": self.cell.name, "verdict": self.report.verdict.value, **plain}


@dataclass(frozen=True)
class Turn:
    """One run of a cell by our clients."""

    groups: Sequence[Mapping[str, Any]]
    #: Of one copy of all streams.
    stored_messages: int
    stored_bytes: int
    server_cpu_s: float | None
    placement: Mapping[str, Any]


def judge(
    cell: Cell, turns: Sequence[Turn], sync_interval: str, peers: Sequence[PeerRates] = ()
) -> CellOutcome:
    """Rates are means over the turns; the ledger, latencies and CPU are of all of them."""
    groups = [group for turn in turns for group in turn.groups]
    writers = [writer for group in groups for writer in group["publishers"]]
    readers = [reader for group in groups for reader in group["subscribers"]]
    publishers = Spread.of(_rates(writers, "acked", "first_send_ns", "last_ack_ns"))
    subscribers = Spread.of(_rates(readers, "received", "first_ns", "last_ns"))
    published_per_s = sum(_group_rate(group) for group in groups) / len(turns)
    acked = sum(one["acked"] for one in writers)
    latency = merged_latency([group["latency"] for group in groups])
    stored = sum(turn.stored_messages for turn in turns)
    stored_bytes = sum(turn.stored_bytes for turn in turns)
    cpu = [turn.server_cpu_s for turn in turns if turn.server_cpu_s is not None]
    refused: Counter[str] = Counter()
    for one in writers:
        refused.update(one["refused"])
    metrics: dict[str, float | int | None] = {
        "rounds": len(turns),
        "acked": acked,
        "published_per_s": published_per_s,
        "publisher_per_s": publishers.mean if publishers else None,
        "subscriber_per_s": subscribers.mean if subscribers else None,
        **{f"latency_ms_p{p}": _ms(latency.percentile_us(p)) for p in (50, 95, 99)},
        "refused": refused.total(),
        "unanswered": sum(one["sent"] - one["acked"] for one in writers) - refused.total(),
        "received": sum(one["received"] for one in readers),
        **{name: sum(one[name] for one in readers) for name in LEDGER},
        "consumers_recreated": sum(one["recreated"] for one in readers),
        "stored_missing": acked - stored,
        "stored_bytes": stored_bytes * cell.replicas,
        "stored_share": stored_bytes / (stored * cell.size) if stored else None,
        "server_cpu_s_per_million": sum(cpu) / acked * 1e6 if acked and len(cpu) == len(turns) else None,
        "client_cpu_s_per_million": sum(group["cpu_s"] for group in groups) / acked * 1e6 if acked else None,
        **_peer_metrics(peers, published_per_s, subscribers),
    }
    return CellOutcome(
        cell,
        evaluate(CELL_GATES, metrics),
        metrics,
        publishers,
        subscribers,
        turns[-1].placement,
        dict(refused),
        sync_interval,
        tuple(asdict(peer) for peer in peers),
    )


def _peer_metrics(
    peers: Sequence[PeerRates], published_per_s: float, subscribers: Spread | None
) -> dict[str, float | int | None]:
    if not peers:
        return {}
    theirs = statistics.fmean(peer.published_per_s for peer in peers)
    their_readers = Spread.of([rate for peer in peers for rate in peer.subscribers])
    return {
        "peer_published_per_s": theirs,
        "peer_subscriber_per_s": their_readers.mean if their_readers else None,
        "publish_ratio": published_per_s / theirs if theirs else None,
        "subscribe_ratio": subscribers.mean / their_readers.mean if subscribers and their_readers else None,
    }


def _rates(clients: Sequence[Mapping[str, Any]], count: str, first: str, last: str) -> list[float]:
    rates = [_rate(one[count], one[first], one[last]) for one in clients]
    return [rate for rate in rates if rate is not None]


def merged_latency(encoded: Sequence[str]) -> LatencySummary:
    whole = LatencyRecorder().take_interval()
    for text in encoded:
        part = HdrHistogram.decode(text)
        if part.get_total_count():
            whole.add(part)
    return LatencySummary(whole)


def cluster_manifest(cluster: NatsCluster, cell: Cell, admin: TransportAdmin) -> dict[str, Any]:
    return {
        "cell": asdict(cell),
        "servers": {name: identity(node) for name, node in cluster.nodes.items()},
        "meta_leader": cluster.meta_leader(),
        "placement": {name: admin.placement(name) for name in cell.streams()},
        "sync_interval": cluster.sync_interval,
        "machine": machine(),
        "git": git_state(),
    }


def _group_rate(group: Mapping[str, Any]) -> float:
    """From the group's first message to its last acknowledgement, as `nats bench` aggregates its clients."""
    writers = group["publishers"]
    first, last = min(one["first_send_ns"] for one in writers), max(one["last_ack_ns"] for one in writers)
    return _rate(sum(one["acked"] for one in writers), first, last) or 0.0


def _rate(count: int, first_ns: int, last_ns: int) -> float | None:
    return count / ((last_ns - first_ns) / 1e9) if last_ns > first_ns else None


def _ms(micros: int | None) -> float | None:
    return None if micros is None else micros / 1000
