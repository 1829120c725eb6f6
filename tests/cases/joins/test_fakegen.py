"""The generator as a user runs it: what it says, what it stores, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.joins.streams import stream_of
from tests.jetstream_call import on_jetstream

pytestmark = pytest.mark.joins

ROOT = Path(__file__).parents[3]
TOPICS = ("fake_events", "fake_profiles")


def command(*words):
    return [sys.executable, "-m", "bench", "fakegen", "--topics", ",".join(TOPICS), *words]


@pytest.fixture
def environment(nats_stack, streams):
    endpoint = nats_stack.nats.endpoint
    access = endpoint.url.replace("://", f"://{endpoint.user}:{endpoint.password}@")
    yield {**os.environ, "JETLAG_NATS_URL": access}
    for topic in TOPICS:
        streams.delete_stream(stream_of(topic))


def stored(streams, topic):
    """All messages of a topic, decoded."""

    async def read(js):
        state = (await js.stream_info(stream_of(topic))).state
        return [
            json.loads((await js.get_msg(stream_of(topic), seq)).data) for seq in range(1, state.messages + 1)
        ]

    return on_jetstream(streams.endpoint, read)


def run(environment, *words):
    return subprocess.run(
        command(*words), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )


def test_it_publishes_what_its_expected_rows_say(environment, streams, tmp_path):
    """A user would check a join against rows that were never published."""
    words = ("--rate", "100", "--duration", "2s", "--keys", "50", "--hit-rate", "0.8", "--seed", "3")
    ended = run(environment, *words, "--expected", str(tmp_path / "expected"))
    assert ended.returncode == 0, ended.stderr
    assert "250 of 250" not in ended.stdout, "the dimension is published ahead"
    assert "200 of 200 rows stored" in ended.stdout
    facts, profiles = (stored(streams, topic) for topic in TOPICS)
    table = {row["k0"]: row for row in profiles}
    joined = [
        {
            "seq": fact["seq"],
            "total": fact["value"] + (match["value"] if match else 0),
            "m0": match["seq"] if match else None,
        }
        for fact in facts
        for match in [table.get(fact["k0"])]
    ]
    assert joined == [json.loads(line) for line in (tmp_path / "expected").read_text().splitlines()]
    assert 0 < sum(row["m0"] is None for row in joined) < 80


def test_ctrl_c_ends_it(environment):
    """A load would go on after its user has gone."""
    words = command("--rate", "50", "--duration", "1h")
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if "acknowledged" in line:
                break
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--rate", "5", "--duration", "2s", "--payload-bytes", "10"), 2, "too small"),
        (
            ("--rate", "5", "--duration", "2s", "--servers", "nats://192.0.2.1:4222"),
            1,
            "--allow-remote-target",
        ),
        (("--rate", "5", "--duration", "2s", "--servers", "nats://127.0.0.1:1"), 1, "cannot be reached"),
    ],
)
def test_a_bad_word_is_one_clear_line(environment, words, code, said):
    """A typing error would be a traceback, or a load on somebody else's machine."""
    ended = run(environment, *words)
    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
