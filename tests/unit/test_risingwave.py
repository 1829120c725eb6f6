"""The conversation with RisingWave, against a server that speaks enough of Postgres' protocol."""

from __future__ import annotations

import re
import socketserver
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.engine import hosted
from bench.engine.protocol import EngineError, EngineJob
from bench.engine.risingwave import RisingWaveEngine
from bench.infra.endpoint import NatsEndpoint, RisingWaveEndpoint
from bench.infra.external_engine import ExternalRisingWave

NATS = NatsEndpoint("127.0.0.1", 1, "u", "s3cret")
JOB = EngineJob("run-1", "C", 1000, "event", 2, "jetstream", NATS, None, Path())
SSL_REQUEST, GSS_REQUEST = 80877103, 80877104


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def row(value: str) -> bytes:
    column = b"value\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
    text = value.encode()
    return message(b"T", struct.pack("!h", 1) + column) + message(
        b"D", struct.pack("!hi", 1, len(text)) + text
    )


class FakeRisingWave:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuse: str | None = None
        self.recoveries = 3
        self.being_made = 0
        fake = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while True:
                    (length,) = struct.unpack("!i", self.rfile.read(4))
                    (code,) = struct.unpack("!i", self.rfile.read(length - 4)[:4])
                    if code not in (SSL_REQUEST, GSS_REQUEST):
                        break
                    self.wfile.write(b"N")
                ready = message(b"Z", b"I")
                hello = message(b"R", struct.pack("!i", 0)) + message(b"S", b"client_encoding\0UTF8\0")
                self.wfile.write(hello + ready)
                while (kind := self.rfile.read(1)) == b"Q":
                    (length,) = struct.unpack("!i", self.rfile.read(4))
                    self.wfile.write(fake.reply(self.rfile.read(length - 4)[:-1].decode()) + ready)
                assert kind in (b"X", b"")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server: Any = Server(("127.0.0.1", 0), Session)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reply(self, query: str) -> bytes:
        self.asked.append(query)
        if self.refuse and re.search(self.refuse, query):
            fields = {b"S": b"ERROR", b"C": b"XX000", b"M": f"cannot: {query}".encode()}
            body = b"".join(code + text + b"\0" for code, text in fields.items()) + b"\0"
            return message(b"E", body)
        done = message(b"C", b"OK\0")
        if "rw_event_logs" in query:
            return row(str(self.recoveries)) + done
        if "rw_ddl_progress" in query:
            return row(str(self.being_made)) + done
        if query.startswith("SELECT"):
            return row("PostgreSQL 13.14.0-RisingWave-3.0.3") + done
        return done


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRisingWave]:
    monkeypatch.setattr(hosted, "LOOK_EVERY_S", 0.0)
    server = FakeRisingWave()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def engine(fake: FakeRisingWave) -> RisingWaveEngine:
    endpoint = RisingWaveEndpoint("127.0.0.1", fake.server.server_address[1])
    return RisingWaveEngine(ExternalRisingWave(endpoint), "test")


def kinds(asked: list[str]) -> list[str]:
    """The first words of the statements, comments aside."""
    bare = (re.sub(r"^--.*\n", "", query, flags=re.MULTILINE) for query in asked)
    return [" ".join(query.split()[:2]) for query in bare]


def test_the_jobs_are_made_in_order_and_dropped_in_reverse(
    fake: FakeRisingWave, engine: RisingWaveEngine
) -> None:
    """A view before its source is refused; a sink that stays would publish into the next run's results."""
    engine.deploy(JOB)
    made = [kind for kind in kinds(fake.asked) if kind.startswith(("SET", "CREATE"))]
    wanted = ["SET sink_decouple", "CREATE SOURCE", "CREATE MATERIALIZED", "CREATE SINK", "CREATE SINK"]
    assert made == wanted
    engine.wait_ready(5)
    assert engine.running()
    assert "3.0.3" in engine.settings()["version"]
    fake.asked.clear()
    engine.stop()
    assert kinds(fake.asked) == [*["DROP SINK"] * 3, "DROP MATERIALIZED", "DROP SOURCE"]


def test_a_recovery_is_counted(fake: FakeRisingWave, engine: RisingWaveEngine) -> None:
    """A recovered RisingWave may publish a window twice: unnoticed, the run would be judged as if sound."""
    engine.deploy(JOB)
    engine.wait_ready(5)
    before = engine.starts
    fake.recoveries += 2
    assert engine.running()
    assert engine.starts == before + 2
    fake.refuse = "rw_event_logs"
    assert not engine.running()
    engine.stop()


def test_jobs_that_are_being_made_are_waited_for(fake: FakeRisingWave, engine: RisingWaveEngine) -> None:
    """A sink that is still being created has no output yet, and the run would begin without it."""
    engine.deploy(JOB)
    fake.being_made = 1
    with pytest.raises(EngineError, match="rw is not ready"):
        engine.wait_ready(0.6)
    fake.being_made = 0
    engine.wait_ready(5)
    engine.stop()


def test_a_refused_statement_is_told_without_the_password(
    fake: FakeRisingWave, engine: RisingWaveEngine
) -> None:
    """RisingWave repeats the statement in its error, and the statement holds the password of NATS."""
    fake.refuse = "CREATE SOURCE"
    with pytest.raises(EngineError, match="rw cannot be deployed: RisingWave at postgres://") as caught:
        engine.deploy(JOB)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    engine.stop()


def test_a_risingwave_that_is_not_there_is_one_line() -> None:
    """A wrong address in the environment would end in a traceback."""
    engine = RisingWaveEngine(ExternalRisingWave(RisingWaveEndpoint("127.0.0.1", 9)), "test")
    with pytest.raises(EngineError, match=r"RisingWave at postgres://127.0.0.1:9/dev: ") as caught:
        engine.deploy(JOB)
    assert "\n" not in str(caught.value)
    engine.stop()
