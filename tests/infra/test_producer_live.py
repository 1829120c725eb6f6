"""The producer against a real nats-server that refuses: each message's fate is known, none is doubled."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from nats.js.api import DiscardPolicy, StorageType, StreamConfig

from bench.clock import RunClock
from bench.driverbench.broker import Broker
from bench.driverbench.ours import wait_for
from bench.fates import Fates
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.producer import Producer
from bench.publish_frames import EventFrames, FrameShape
from bench.schedule import ConstantRate
from bench.stream_admin import OWNER_MARK
from bench.tickets import GROUP
from bench.wire.api import stored_payload
from bench.worker import Worker

pytestmark = pytest.mark.infra

PATIENCE_S = 30.0
TOTAL = 50 * GROUP + 7
STREAM = "REFUSING"
SUBJECTS = tuple(f"refusing.{p}" for p in range(4))


@pytest.fixture(scope="module")
def broker():
    with running(LocalNats()) as nats, Broker(nats) as broker:
        yield broker


@pytest.fixture
def make_stream(broker):
    def make(**options):
        config = StreamConfig(
            STREAM, subjects=["refusing.*"], storage=StorageType.MEMORY, metadata=OWNER_MARK, **options
        )
        broker._run(broker._js().add_stream(config))

    yield make
    broker.delete_stream(STREAM)


def producing(broker, message_ids=False, rate_per_s=4_000):
    inbox = "_INBOX.refusing"
    shape = FrameShape("run", TOTAL, 100, SUBJECTS, inbox, message_ids)
    clock = RunClock()
    producer = Producer(
        broker.connect,
        EventFrames(shape, 512),
        ConstantRate(clock.now_ns(), rate_per_s),
        clock,
        run_id="run",
        total=TOTAL,
        inbox=inbox,
        stream=STREAM,
        heartbeats=False,
    )
    return producer, Worker("producer", producer.run)


def run_to_the_end(worker):
    wait_for(worker, lambda: not worker.alive, PATIENCE_S)


def stored_seqs(broker):
    connection = broker.connect("test")
    try:
        payloads = [
            stored_payload(connection, STREAM, place) for place in range(1, broker.message_count(STREAM) + 1)
        ]
    finally:
        connection.close()
    return [json.loads(payload)["seq"] for payload in payloads]


@pytest.mark.parametrize("message_ids", [False, True])
def test_a_stream_that_becomes_full_in_the_middle_of_a_group(broker, make_stream, message_ids):
    """If this fails, it is guessed which messages fitted in: some count as stored that are not."""
    held = 10 * GROUP + 5
    make_stream(max_msgs=held, discard=DiscardPolicy.NEW)
    producer, worker = producing(broker, message_ids)
    worker.start()
    run_to_the_end(worker)
    assert sorted(stored_seqs(broker)) == list(range(1, held + 1))
    assert np.flatnonzero(producer.acked_flags()).tolist() == list(range(1, held + 1))
    assert producer.refused == {"maximum messages exceeded (10077)": TOTAL - held}


@pytest.mark.parametrize("message_ids", [False, True])
def test_nobody_listens_for_a_while(broker, make_stream, message_ids):
    """If this fails, what was published while a stream had no leader is lost or stored twice."""
    producer, worker = producing(broker, message_ids)
    worker.start()
    time.sleep(0.1)
    make_stream()
    run_to_the_end(worker)
    assert sorted(stored_seqs(broker)) == list(range(1, TOTAL + 1))
    assert producer.acked == TOTAL
    assert not producer.refused


def test_the_stream_is_asked_which_of_a_group_it_holds(broker, make_stream, monkeypatch):
    """If this fails, a group that was acknowledged in part before the connection broke is stored twice."""
    make_stream()
    producer, worker = producing(broker)
    partly = threading.Event()
    hear = Fates.hear

    def lose_the_end_of_a_group(fates, answers):
        """The last answers of one batch never arrive, as when the connection breaks between them."""
        if not partly.is_set() and len(answers.acked) > 3:
            partly.set()
            answers.acked, answers.stored_at = answers.acked[:3], answers.stored_at[:3]
            hear(fates, answers)
            producer._live().close()
            return
        hear(fates, answers)

    monkeypatch.setattr(Fates, "hear", lose_the_end_of_a_group)
    worker.start()
    run_to_the_end(worker)
    assert partly.is_set()
    assert producer.acked == TOTAL
    seqs = stored_seqs(broker)
    first_three = seqs[:3]
    assert [seqs.count(seq) for seq in first_three] == [1, 1, 1]
    assert set(seqs) == set(range(1, TOTAL + 1))
