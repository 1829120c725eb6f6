"""What a cell came to: rates, latency, cost, storage, ledger, and where its streams lay."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hdrh.histogram import HdrHistogram

from bench.gates import Gate, GateReport, evaluate
from bench.infra.nats_cluster import NatsCluster
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
    peer: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["report"] = self.report.as_dict()
        return {"name": self.cell.name, "verdict": self.report.verdict.value, **plain}


def judge(
    cell: Cell,
    groups: Sequence[Mapping[str, Any]],
    stored: tuple[int, int],
    server_cpu_s: float | None,
    placement: Mapping[str, Any],
    sync_interval: str,
    peer: PeerRates | None,
) -> CellOutcome:
    """`stored` is (messages, bytes) of one copy of all streams."""
    writers = [writer for group in groups for writer in group["publishers"]]
    readers = [reader for group in groups for reader in group["subscribers"]]
    writer_rates = [
        rate for one in writers if (rate := _rate(one["acked"], one["first_send_ns"], one["last_ack_ns"]))
    ]
    reader_rates = [
        rate for one in readers if (rate := _rate(one["received"], one["first_ns"], one["last_ns"]))
    ]
    published_per_s = sum(_group_rate(group) for group in groups)
    acked = sum(one["acked"] for one in writers)
    latency = merged_latency([group["latency"] for group in groups])
    publishers, subscribers = Spread.of(writer_rates), Spread.of(reader_rates)
    metrics: dict[str, float | int | None] = {
        "acked": acked,
        "published_per_s": published_per_s,
        "publisher_per_s": publishers.mean if publishers else None,
        "subscriber_per_s": subscribers.mean if subscribers else None,
        **{f"latency_ms_p{p}": _ms(latency.percentile_us(p)) for p in (50, 95, 99)},
        "refused": sum(sum(one["refused"].values()) for one in writers),
        "unanswered": sum(one["sent"] - one["acked"] - sum(one["refused"].values()) for one in writers),
        "received": sum(one["received"] for one in readers),
        **{name: sum(one[name] for one in readers) for name in LEDGER},
        "consumers_recreated": sum(one["recreated"] for one in readers),
        "stored_missing": acked - stored[0],
        "stored_bytes": stored[1] * cell.replicas,
        "stored_share": stored[1] / (stored[0] * cell.size) if stored[0] else None,
        "server_cpu_s_per_million": None if server_cpu_s is None or not acked else server_cpu_s / acked * 1e6,
        "client_cpu_s_per_million": sum(group["cpu_s"] for group in groups) / acked * 1e6 if acked else None,
        **_peer_metrics(peer, published_per_s, subscribers),
    }
    refused: dict[str, int] = {}
    for one in writers:
        for why, count in one["refused"].items():
            refused[why] = refused.get(why, 0) + count
    return CellOutcome(
        cell,
        evaluate(CELL_GATES, metrics),
        metrics,
        publishers,
        subscribers,
        placement,
        refused,
        sync_interval,
        asdict(peer) if peer else None,
    )


def _peer_metrics(
    peer: PeerRates | None, published_per_s: float, subscribers: Spread | None
) -> dict[str, float | int | None]:
    if peer is None or not peer.published_per_s:
        return {}
    theirs = Spread.of(peer.subscribers)
    return {
        "peer_published_per_s": peer.published_per_s,
        "peer_subscriber_per_s": theirs.mean if theirs else None,
        "publish_ratio": published_per_s / peer.published_per_s,
        "subscribe_ratio": subscribers.mean / theirs.mean if subscribers and theirs and theirs.mean else None,
    }


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
        "servers": {
            name: {"version": node.version(), "build": node.build_id(), "kind": node.kind}
            for name, node in cluster.nodes.items()
        },
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
