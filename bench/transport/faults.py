"""A server of the cluster dies or freezes under load: is an acknowledged message lost, how long is the gap?

The load is case A's producer and observer: open loop, message ids (what is published again is stored once),
and a ledger of every acknowledged event. The observer reads a replicated durable, so it lives through it too.
Not covered: a machine that crashes. The servers are processes of one machine, whose page cache outlives them;
JetStream fsyncs every two minutes unless `sync_interval` says otherwise.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nats.js.api import AckPolicy, ConsumerConfig

from bench.clock import RunClock
from bench.gates import Gate, GateReport, evaluate
from bench.infra.nats_cluster import NatsCluster
from bench.infra.waiting import wait_until
from bench.observer import EventObserver
from bench.phases import Phases
from bench.producer import Producer
from bench.publish_frames import EventFrames, FrameShape
from bench.schedule import ConstantRate
from bench.stream_admin import MAX_ACK_PENDING
from bench.transport.streams import TransportAdmin, admin_of, is_healthy
from bench.wire.connection import Connection, Server
from bench.wire.errors import ConnectionLost
from bench.worker import Worker

STREAM, SUBJECTS, CONSUMER = "TRANSPORT", "transport.>", "faults"
Action = Literal["kill", "pause"]
Target = Literal["leader", "follower"]
PAUSE_S = 5.0
DOWN_S = 3.0
CALM_S = 2.0
HEALTHY_TIMEOUT_S = 60.0
PROBE_TIMEOUT_S = 0.3
DRAIN_TIMEOUT_S = 60.0
LEAD_NS = 300_000_000
POLL_S = 0.002


@dataclass(frozen=True)
class Fault:
    action: Action
    target: Target
    storage: str = "file"
    replicas: int = 3
    rate_per_s: int = 500
    #: From the first message to the last; the fault comes after CALM_S.
    load_s: int = 14
    payload_bytes: int = 512

    @property
    def name(self) -> str:
        return f"{self.action}-{self.target}"


FAULTS = (
    Fault("kill", "follower"),
    Fault("kill", "leader"),
    Fault("pause", "follower"),
    Fault("pause", "leader"),
)

GATES = (
    Gate("acked", ">=", 1, "something was measured", kind="validity"),
    Gate("driver_errors", "==", 0, "no driver thread died", kind="validity"),
    Gate("lost_acked", "==", 0, "no acknowledged message was lost"),
    Gate("duplicates", "==", 0, "what was published again is there once"),
    Gate("unexpected", "==", 0, "nothing came that was not sent"),
    Gate("unanswered", "==", 0, "every publish was answered in the end"),
    Gate("healthy_after_ms", ">=", 0, "the stream got well again"),
)


@dataclass(frozen=True)
class FaultOutcome:
    fault: Fault
    report: GateReport
    metrics: dict[str, float | int | None]
    leader_before: str
    leader_after: str
    hurt: str
    sync_interval: str
    outages: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "name": self.fault.name, "report": self.report.as_dict()}


class _StallWatch:
    """The longest time from the fault on in which no publish was acknowledged."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self.longest_s = 0.0
        self._armed = threading.Event()

    def arm(self) -> None:
        self._armed.set()

    def run(self, stop: threading.Event) -> None:
        acks, since = -1, time.monotonic()
        while not stop.is_set() and self._producer.settled < self._producer.total:
            now = time.monotonic()
            if self._producer.acks != acks or not self._armed.is_set():
                acks, since = self._producer.acks, now
            self.longest_s = max(self.longest_s, now - since)
            time.sleep(POLL_S)


def run_fault(
    cluster: NatsCluster, fault: Fault, say: Callable[[str], None] = lambda _line: None
) -> FaultOutcome:
    with admin_of(cluster) as admin:
        admin.make(STREAM, SUBJECTS, fault.storage, fault.replicas)
        _make_consumer(admin)
        wait_until(
            lambda: is_healthy(admin.placement(STREAM), fault.replicas),
            HEALTHY_TIMEOUT_S,
            "no healthy stream",
        )
        leader = str(admin.placement(STREAM)["leader"])
    followers = sorted(name for name in cluster.nodes if name != leader)
    hurt = leader if fault.target == "leader" else followers[0]
    # A killed server takes its clients' connections along; a frozen one would keep them waiting, so that the
    # gap measured would be the client's patience: there the client is connected to another.
    home = hurt if fault.action == "kill" else followers[-1]
    say(f"fault {fault.name}: {hurt} (leader {leader})")
    run = _FaultRun(cluster, fault, home)
    try:
        return run.go(hurt, leader)
    finally:
        _restore(cluster, hurt)
        with admin_of(cluster) as admin:
            admin.delete_stream(STREAM)


def _make_consumer(admin: TransportAdmin) -> None:
    config = ConsumerConfig(
        durable_name=CONSUMER, ack_policy=AckPolicy.ALL, ack_wait=5.0, max_ack_pending=MAX_ACK_PENDING
    )
    admin.add_consumer(STREAM, config)


def _restore(cluster: NatsCluster, hurt: str) -> None:
    node = cluster.nodes[hurt]
    if node.kind == "local" and not node.pids():
        node.restart()
    cluster.wait_ready()


class _FaultRun:
    def __init__(self, cluster: NatsCluster, fault: Fault, home: str) -> None:
        self._cluster, self._fault, self._home = cluster, fault, home
        clock = RunClock()
        total = fault.rate_per_s * fault.load_s
        shape = FrameShape(
            run_id=f"f{secrets.token_hex(3)}",
            total=total,
            num_keys=1000,
            subjects=tuple(f"transport.{p}" for p in range(4)),
            inbox=f"_INBOX.{secrets.token_hex(4)}",
            message_ids=True,
        )
        frames = EventFrames(shape, fault.payload_bytes)
        start_ns = clock.now_ns() + LEAD_NS
        schedule = ConstantRate(start_ns, fault.rate_per_s)
        self._start_ns, self._clock = start_ns, clock
        self._producer = Producer(
            self._connect,
            frames,
            schedule,
            clock,
            run_id=shape.run_id,
            total=total,
            inbox=shape.inbox,
            stream=STREAM,
            heartbeats=False,
        )
        self._observer = EventObserver(
            self._connect,
            STREAM,
            CONSUMER,
            frames.layout,
            schedule,
            clock,
            Phases(start_ns, start_ns, 2**62),
            run_id=shape.run_id,
            total=total,
            late_after_s=DRAIN_TIMEOUT_S,
        )
        self._stalls = _StallWatch(self._producer)

    def _connect(self, name: str) -> Connection:
        """The first server that answers, the chosen one before the others."""
        lost: ConnectionLost | None = None
        for endpoint in self._cluster.endpoints(self._home):
            try:
                server = Server(endpoint.host, endpoint.port, endpoint.user, endpoint.password)
                return Connection(server, f"jetlag-{name}", timeout_s=1.0)
            except ConnectionLost as error:
                lost = error
        assert lost is not None
        raise lost

    def go(self, hurt: str, leader: str) -> FaultOutcome:
        workers = [
            Worker("observer", self._observer.run),
            Worker("producer", self._producer.run),
            Worker("stalls", self._stalls.run),
        ]
        for worker in workers:
            worker.start()
        try:
            self._wait_s(CALM_S)
            healthy_after_ms, leader_after = self._break(hurt)
            self._drain(workers)
        finally:
            for worker in workers:
                worker.join(15.0)
        return self._outcome(workers, healthy_after_ms, leader, leader_after, hurt)

    def _wait_s(self, since_start_s: float) -> None:
        time.sleep(max(0.0, (self._start_ns - self._clock.now_ns()) / 1e9 + since_start_s))

    def _break(self, hurt: str) -> tuple[float, str]:
        """Hurt the server, mend it, wait for health; returns ms from the fault to health, and who leads."""
        node = self._cluster.nodes[hurt]
        self._stalls.arm()
        struck = time.monotonic()
        if self._fault.action == "kill":
            node.kill()
            time.sleep(DOWN_S)
            node.restart()
        else:
            node.pause()
            time.sleep(PAUSE_S)
            node.resume()
        node.wait_ready()
        placement: dict[str, Any] = {}

        def healthy() -> bool:
            # Short: a question that gets lost in an election would be taken for a sick stream.
            with admin_of(self._cluster, hurt, PROBE_TIMEOUT_S) as admin:
                placement.update(admin.placement(STREAM))
            return is_healthy(placement, self._fault.replicas)

        wait_until(
            healthy, HEALTHY_TIMEOUT_S, f"the stream is not well after {self._fault.name}", abort_on=()
        )
        return (time.monotonic() - struck) * 1000, str(placement["leader"])

    def _drain(self, workers: list[Worker]) -> None:
        """Until all is answered and what was acknowledged has been seen, or nothing moves any more."""
        deadline = time.monotonic() + self._fault.load_s + DRAIN_TIMEOUT_S
        producer, observer = self._producer, self._observer
        while time.monotonic() < deadline and not any(worker.error for worker in workers):
            if producer.settled >= producer.total and observer.ledger.seen >= producer.acked:
                time.sleep(0.5)  # a duplicate on its way would come now
                return
            time.sleep(0.05)

    def _outcome(
        self, workers: list[Worker], healthy_after_ms: float, leader: str, leader_after: str, hurt: str
    ) -> FaultOutcome:
        producer, ledger = self._producer, self._observer.ledger
        missing = [seq for first, last in ledger.missing_ranges(10_000) for seq in range(first, last + 1)]
        acked = producer.acked_flags()
        errors = [f"{worker.name}: {worker.error!r}" for worker in workers if worker.error]
        metrics: dict[str, float | int | None] = {
            "acked": producer.acked,
            "lost_acked": sum(1 for seq in missing if acked[seq]),
            "duplicates": ledger.duplicates,
            "unexpected": ledger.unexpected + self._observer.foreign,
            "unanswered": producer.total - producer.settled,
            "refused": producer.refused_count,
            "republished": producer.republished,
            "deduplicated": producer.deduplicated,
            "redelivered": self._observer.redelivered,
            "publish_stall_ms": self._stalls.longest_s * 1000,
            "healthy_after_ms": healthy_after_ms,
            "driver_errors": len(errors),
        }
        report = evaluate(GATES, metrics)
        outages = [asdict(one) for one in (*producer.outage_log.outages, *self._observer.outage_log.outages)]
        return FaultOutcome(
            self._fault,
            report,
            metrics,
            leader,
            leader_after,
            hurt,
            self._cluster.sync_interval,
            outages + [{"error": text} for text in errors],
        )
