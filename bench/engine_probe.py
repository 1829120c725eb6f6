"""The roadmap's gate before an engine case: the engine consumes events *and* produces results.

Probe events carry the flush key, which every ledger leaves out by name, and seq 0, so that they move
no progress mark. A first window through the whole engine also warms up what it compiles on first use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import nats
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from bench.contract.event import Event, encode_event
from bench.contract.names import FLUSH_KEY, RESULTS, events_subject, results_subject
from bench.contract.partition import partition_of
from bench.contract.table import TABLE
from bench.engine.protocol import Engine, EngineError, EngineJob
from bench.stack import Stack

PROBE_EVERY_S = 0.5
PROBE_BYTES = 512


def wait_for_output(
    engine: Engine, job: EngineJob, stack: Stack, timeout_s: float, *, in_table: bool
) -> None:
    """Send probe events until the first result comes out, in the table or in RESULTS."""
    asyncio.run(_probe(engine, job, stack, timeout_s, in_table))


async def _probe(engine: Engine, job: EngineJob, stack: Stack, timeout_s: float, in_table: bool) -> None:
    endpoint = job.nats
    client = await nats.connect(
        endpoint.url, user=endpoint.user or None, password=endpoint.password or None, connect_timeout=5
    )
    try:
        js = client.jetstream()
        partition = partition_of(FLUSH_KEY, job.partitions)
        deadline = time.monotonic() + timeout_s
        while not await _has_output(js, engine, job, stack, partition, in_table):
            if not engine.running():
                raise EngineError(f"{engine.variant} ended during its first window:\n{engine.log_tail()}")
            if time.monotonic() > deadline:
                raise EngineError(
                    f"{engine.variant} consumed events for {timeout_s:g} s and produced no result:\n"
                    f"{engine.log_tail()}"
                )
            event = Event(job.run_id, 0, int(time.time() * 1000), FLUSH_KEY, 0)
            await js.publish(events_subject(partition), encode_event(event, PROBE_BYTES))
            await asyncio.sleep(PROBE_EVERY_S)
    finally:
        await client.close()


async def _has_output(
    js: JetStreamContext, engine: Engine, job: EngineJob, stack: Stack, partition: int, in_table: bool
) -> bool:
    if in_table:
        return await asyncio.to_thread(_in_table(stack, engine.variant, job.run_id))
    try:
        await js.get_last_msg(RESULTS, results_subject(engine.variant, partition))
    except NotFoundError:
        return False
    return True


def _in_table(stack: Stack, variant: str, run_id: str) -> Callable[[], bool]:
    def look() -> bool:
        connection = stack.connect_database()
        try:
            with connection.cursor() as cursor:
                query = f"SELECT 1 FROM {TABLE} WHERE variant = %s AND run_id = %s LIMIT 1"
                return cursor.execute(query, (variant, run_id)) > 0
        finally:
            connection.close()

    return look
