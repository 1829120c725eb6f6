"""Steps 1, 2, 3 and 5 of the roadmap, with its verify checks."""

from __future__ import annotations

import asyncio

import nats
import pytest
from nats.js.api import ConsumerConfig

from bench.contract.heartbeat import Heartbeat, decode_heartbeat, encode_heartbeat
from bench.contract.names import HEARTBEAT_SUBJECT, STREAM_SUBJECTS
from bench.contract.result import mock_result
from bench.contract.table import COLUMNS, TABLE, row_of
from bench.database import connect, create_table, delete_run
from bench.infra.errors import InfraError
from bench.stream_admin import StreamAdmin

pytestmark = pytest.mark.infra


async def _client(stack):
    endpoint = stack.nats.endpoint
    return await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)


def test_step_1_both_services_answer(full_stack):
    """Nothing else in the suite could work."""
    assert full_stack.nats.version()
    connection = connect(full_stack.database())
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_step_2_streams_are_made_as_the_contract_says(nats_stack, storage):
    """A subject that no stream listens on would swallow messages."""
    with StreamAdmin(nats_stack.nats.endpoint) as admin:
        admin.recreate_streams(storage, replicas=1)
        for name, subject in STREAM_SUBJECTS.items():
            info = admin.stream(name)
            assert info is not None
            assert info.config.subjects == [subject]
            assert info.config.storage == storage
            assert info.config.retention == "limits"
            assert info.config.discard == "old"
        admin.delete_streams()
        assert admin.stream("EVENTS") is None


def test_step_3_one_message_goes_through_a_durable_consumer(nats_stack):
    """The client could not publish to bench.prod, or not make a durable consumer."""
    with StreamAdmin(nats_stack.nats.endpoint) as admin:
        admin.recreate_streams("memory", replicas=1)
    sent = Heartbeat("step-3", 1, 1, 1_700_000_000_000)

    async def once() -> bytes:
        client = await _client(nats_stack)
        js = client.jetstream()
        await js.add_consumer("CTRL", ConsumerConfig(durable_name="step_3"))
        await js.publish(HEARTBEAT_SUBJECT, encode_heartbeat(sent))
        subscription = await js.pull_subscribe_bind("step_3", "CTRL")
        (message,) = await subscription.fetch(1, timeout=5)
        await message.ack()
        await client.close()
        return message.data

    assert decode_heartbeat(asyncio.run(once())) == sent


def test_step_5_table_takes_a_row_once(full_stack):
    """The table would be missing, or its primary key would let a row in twice."""
    create_table(full_stack.database())
    row = row_of("mock", mock_result("step-5", 1, 1_700_000_000_000, 10))
    marks = ", ".join(["%s"] * len(row))
    connection = connect(full_stack.database())
    with connection.cursor() as cursor:
        for _ in range(2):
            cursor.execute(f"INSERT IGNORE INTO {TABLE} {COLUMNS} VALUES ({marks})", row)
        connection.commit()
        cursor.execute(f"SELECT COUNT(*) FROM {TABLE} WHERE run_id = 'step-5'")
        assert cursor.fetchone() == (1,)
    connection.close()
    delete_run(full_stack.database(), "step-5")


def test_a_stream_that_is_not_ours_is_never_deleted(nats_stack):
    """A run against a user's own server would delete their EVENTS."""

    async def foreign(make: bool) -> None:
        client = await _client(nats_stack)
        js = client.jetstream()
        if make:
            await js.add_stream(name="EVENTS", subjects=["events.*"])
        else:
            await js.delete_stream("EVENTS")
        await client.close()

    with StreamAdmin(nats_stack.nats.endpoint) as admin:
        admin.delete_streams()
        asyncio.run(foreign(make=True))
        with pytest.raises(InfraError, match=r"EVENTS.*was not made by jetlag"):
            admin.recreate_streams("memory", replicas=1)
        asyncio.run(foreign(make=False))


def test_three_replicas_on_one_server_are_refused_in_one_line(nats_stack):
    """A replica count that the server cannot keep would pass for durability."""
    with (
        StreamAdmin(nats_stack.nats.endpoint) as admin,
        pytest.raises(InfraError, match="replicas > 1 not supported") as caught,
    ):
        admin.recreate_streams("memory", replicas=3)
    assert "\n" not in str(caught.value)
