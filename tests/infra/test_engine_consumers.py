"""The consumers that Arroyo and RisingWave ask for, made on our own nats-server.

Neither image is at hand here. What each sends to the server follows from its source: the options of our SQL
on top of its own defaults, as async-nats writes them.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from bench.contract.names import EVENTS, RESULTS, results_subject
from bench.contract.result import Result, decode_result
from bench.engine.arroyo_sql import pipeline_sql
from bench.engine.protocol import EngineJob
from bench.engine.risingwave_sql import create_statements
from bench.infra.local_nats import LocalNats
from bench.infra.service import running
from bench.stream_admin import StreamAdmin

pytestmark = pytest.mark.infra

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def server():
    with running(LocalNats()) as service:
        with StreamAdmin(service.endpoint) as admin:
            admin.recreate_streams("memory", 1)
        yield service


def job(server: LocalNats) -> EngineJob:
    return EngineJob("run-1", "C", 10_000, "event", 16, "jetstream", server.endpoint, None, Path())


def options(sql: str) -> dict[str, str]:
    """`consumer.*` of the first WITH."""
    return dict(re.findall(r"'?consumer\.([a-z_.]+)'? = '([^']*)'", sql))


def arroyo_config(given: dict[str, str]) -> dict[str, Any]:
    """Arroyo's defaults; rate_limit is a signed number there and an unsigned one on the wire."""
    rate_limit = int(given.get("rate_limit", "-1"))
    config = {
        "name": "EVENTS-nats-source-0-abcdef",
        "deliver_policy": "all",
        "ack_policy": given.get("ack_policy", "explicit"),
        "ack_wait": 30 * SECOND,
        "max_deliver": -1,
        "filter_subjects": given["filter_subjects"].split(","),
        "replay_policy": "instant",
        "max_waiting": 1_000_000,
        "max_ack_pending": int(given.get("max_ack_pending", "-1")),
        "max_batch": 10_000,
        "max_bytes": 104_857_600,
        "max_expires": 300_000 * SECOND,
        "inactive_threshold": 600 * SECOND,
        "num_replicas": 1,
    }
    return config | ({"rate_limit_bps": rate_limit % 2**64} if rate_limit else {})


def risingwave_config(given: dict[str, str]) -> dict[str, Any]:
    return {
        "durable_name": given["durable_name"],
        "deliver_policy": "all",
        "ack_policy": given["ack_policy"],
        "filter_subjects": ["events.*"],
        "replay_policy": "instant",
        "max_ack_pending": int(given["max_ack_pending"]),
    }


def create(server: LocalNats, config: dict[str, Any]) -> dict[str, Any]:
    """The server's answer to the request as async-nats sends it."""

    async def ask() -> dict[str, Any]:
        endpoint = server.endpoint
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        try:
            name = config.get("name") or config["durable_name"]
            request = json.dumps({"stream_name": EVENTS, "config": config, "action": "create"}).encode()
            answer = await client.request(f"$JS.API.CONSUMER.CREATE.{EVENTS}.{name}", request, timeout=5)
            return json.loads(answer.data)
        finally:
            await client.close()

    return asyncio.run(ask())


def test_the_server_takes_arroyo_s_consumer(server: LocalNats) -> None:
    """Every pipeline would fail at its start, with a panic in Arroyo's log and nothing else."""
    given = options(pipeline_sql(job(server), 6))
    answer = create(server, arroyo_config(given))
    assert "error" not in answer, answer
    assert answer["config"]["filter_subjects"] == ["events.6"]


def test_the_server_refuses_what_arroyo_asks_for_by_default(server: LocalNats) -> None:
    """The reason for rate_limit 0 in our SQL; once the server takes -1, the option can go."""
    given = options(pipeline_sql(job(server), 7))
    assert given.pop("rate_limit") == "0"
    assert "error" in create(server, arroyo_config(given))


def test_the_server_takes_risingwave_s_consumer(server: LocalNats) -> None:
    """RisingWave would create its source and never read a row."""
    source = next(text for text in create_statements(job(server)) if "CREATE SOURCE" in text)
    answer = create(server, risingwave_config(options(source)))
    assert "error" not in answer, answer
    assert answer["name"] == "dur_C_events_rw"
    assert answer["config"]["ack_policy"] == "all"
    assert answer["config"]["max_ack_pending"] == 100_000


async def stored(jetstream: JetStreamContext, subject: str) -> bytes:
    """Its last message; a core publish is not answered, so nobody says when it is stored."""
    for _ in range(500):
        with suppress(NotFoundError):
            return (await jetstream.get_last_msg(RESULTS, subject)).data or b""
        await asyncio.sleep(0.01)
    raise AssertionError(f"nothing is stored on {subject}")


def test_what_the_engines_publish_is_stored_and_read(server: LocalNats) -> None:
    """Arroyo publishes without asking for an answer: a subject without a stream would lose every result."""
    wanted = Result("r", "k1", 10_000, 2, 9, 3, 7)
    body = json.dumps(asdict(wanted)).encode()

    async def publish() -> list[Result]:
        endpoint = server.endpoint
        client = await nats.connect(endpoint.url, user=endpoint.user, password=endpoint.password)
        try:
            found = []
            for variant in ("arroyo", "rw"):
                await client.publish(results_subject(variant, 3), body)
                found.append(decode_result(await stored(client.jetstream(), results_subject(variant, 3))))
            return found
        finally:
            await client.close()

    assert asyncio.run(publish()) == [wanted] * 2
