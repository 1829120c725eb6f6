"""The conversation with Arroyo, against a server that answers in the shape of its REST API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.engine import hosted
from bench.engine.arroyo import ArroyoEngine
from bench.engine.protocol import EngineError, EngineJob
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.external_engine import ExternalArroyo

JOB = EngineJob(
    "run-1", "C", 1000, "event", 2, "jetstream", NatsEndpoint("127.0.0.1", 1, "u", "s3cret"), None, Path()
)


class FakeArroyo:
    """Pipelines with one job each; what was asked is kept."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.jobs: dict[str, dict[str, Any]] = {}
        self.refusal: str | None = None
        self.first_state = "Running"
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                fake.asked.append((self.command, self.path, body))
                status, content = fake.reply(self.command, self.path, body)
                text = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_words: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def reply(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        words = path.removeprefix("/api/v1/").split("/")
        if words == ["ping"]:
            return 200, "Pong"
        if method == "POST" and self.refusal:
            return 400, {"error": self.refusal}
        if method == "POST":
            name = f"pl_{len(self.jobs)}"
            self.jobs[name] = {"id": "job", "state": self.first_state, "run_id": 1, "failure_message": None}
            return 200, {"id": name, "name": body["name"], "query": body["query"]}
        if method == "GET":
            return 200, {"data": [self.jobs[words[1]]]}
        if method == "PATCH":
            self.jobs[words[1]]["state"] = "Stopped"
            return 200, {"id": words[1]}
        self.jobs.pop(words[1])
        return 200, {}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeArroyo]:
    monkeypatch.setattr(hosted, "LOOK_EVERY_S", 0.0)
    server = FakeArroyo()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def engine(fake: FakeArroyo) -> ArroyoEngine:
    return ArroyoEngine(ExternalArroyo(fake.url), "test")


def test_a_pipeline_a_partition_is_made_awaited_and_removed(fake: FakeArroyo, engine: ArroyoEngine) -> None:
    """A pipeline that stays behind would go on publishing into the next run's results."""
    engine.deploy(JOB)
    made = [body for method, _, body in fake.asked if method == "POST"]
    assert [body["name"] for body in made] == ["jetlag-run-1-0", "jetlag-run-1-1"]
    for p, body in enumerate(made):
        assert body["parallelism"] == 1
        assert body["checkpoint_interval_micros"] == 2_000_000
        assert f"'events.{p}'" in body["query"]
        assert f"'results.arroyo.{p}'" in body["query"]
        assert "'consumer.rate_limit' = '0'" in body["query"]
    engine.wait_ready(5)
    assert engine.running()
    engine.stop()
    assert fake.jobs == {}
    assert ("PATCH", "/api/v1/pipelines/pl_0", {"stop": "immediate"}) in fake.asked
    engine.stop()


def test_a_restart_is_counted_and_a_failure_is_down(fake: FakeArroyo, engine: ArroyoEngine) -> None:
    """A restarted Arroyo publishes windows twice: unnoticed, the run would be judged as if it were sound."""
    engine.deploy(JOB)
    engine.wait_ready(5)
    assert engine.starts == 2
    fake.jobs["pl_1"]["run_id"] = 2
    assert engine.running()
    assert engine.starts == 3
    fake.jobs["pl_0"]["state"] = "Recovering"
    assert not engine.running()
    fake.jobs["pl_0"]["state"] = "Failed"
    assert not engine.running()
    assert not engine.running()
    engine.stop()


def test_a_pipeline_that_fails_is_told_with_its_reason(fake: FakeArroyo, engine: ArroyoEngine) -> None:
    """The run would wait two minutes for an engine that has given up."""
    fake.first_state = "Failed"
    engine.deploy(JOB)
    fake.jobs["pl_0"]["failure_message"] = "stream not found"
    with pytest.raises(EngineError, match="Failed: stream not found"):
        engine.wait_ready(5)
    engine.stop()


def test_a_refused_query_is_told_in_arroyo_s_words_without_the_password(
    fake: FakeArroyo, engine: ArroyoEngine
) -> None:
    """Arroyo repeats the query in its error, and the query holds the password of NATS."""
    fake.refusal = "unknown option in 'auth.password' = 's3cret'"
    with pytest.raises(EngineError, match="POST /pipelines: unknown option") as caught:
        engine.deploy(JOB)
    assert "s3cret" not in str(caught.value)
    engine.stop()


def test_an_arroyo_that_is_not_there_is_one_line() -> None:
    """A wrong address in the environment would end in a traceback."""
    engine = ArroyoEngine(ExternalArroyo("http://127.0.0.1:9"), "test")
    with pytest.raises(EngineError, match=r"Arroyo cannot be used at http://127\.0\.0\.1:9") as caught:
        engine.deploy(JOB)
    assert "\n" not in str(caught.value)
    engine.stop()
    with pytest.raises(ServiceError, match="cannot kill an external arroyo"):
        engine.kill()
