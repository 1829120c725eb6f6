"""The folder a user's server lives in: broker's store, checkpoint, what was launched and measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from bench.infra.endpoint import NatsEndpoint
from bench.infra.external import ExternalNats
from bench.infra.external_url import NATS_VARIABLE, nats_endpoint
from bench.infra.local_nats import LocalNats
from bench.infra.private_file import write_private
from bench.infra.service import Service, running
from bench.statestore.load import NOTHING, Growth, Launch, Truth
from spark_jobs.statestore.names import STREAMS, WINDOWS


class HomeError(Exception):
    """Something that a command needs is not there; one line that says what to do."""


class Home:
    def __init__(self, folder: Path, environ: Mapping[str, str], allow_remote_target: bool = False) -> None:
        self.folder = folder
        self._environ = environ
        self._allow_remote_target = allow_remote_target

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def nats(self) -> Service[NatsEndpoint]:
        """The user's own, if JETLAG_NATS_URL names one; otherwise one whose store is here and stays."""
        url = self._environ.get(NATS_VARIABLE)
        if url:
            return ExternalNats(nats_endpoint(url, allow_remote_target=self._allow_remote_target))
        return LocalNats(store=(self.folder / "jetstream").resolve())

    @contextmanager
    def serving(self) -> Iterator[NatsEndpoint]:
        """The broker runs and other commands find it."""
        with running(self.nats()) as nats:
            place = {"pid": os.getpid(), "nats": asdict(nats.endpoint)}
            write_private(self._server, json.dumps(place))  # it holds the password
            try:
                yield nats.endpoint
            finally:
                self._server.unlink(missing_ok=True)

    def server(self) -> NatsEndpoint:
        """Of the server that runs in this home."""
        place = self._place()
        if place is None:
            raise HomeError(f"no server runs in {self.folder}: start `python -m bench statestore server`")
        return NatsEndpoint(**place["nats"])

    def refuse_if_served(self) -> None:
        place = self._place()
        if place is not None:
            raise HomeError(f"a server (process {place['pid']}) runs in {self.folder}: stop it first")

    def _place(self) -> dict[str, Any] | None:
        try:
            place: dict[str, Any] = json.loads(self._server.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return place if psutil.pid_exists(place["pid"]) else None

    @property
    def _server(self) -> Path:
        return self.folder / "server.json"

    # -- what was launched -----------------------------------------------------------

    def note(self, launched: Launch | Growth) -> None:
        kind = "launch" if isinstance(launched, Launch) else "growth"
        with (self.folder / "launches.jsonl").open("a") as file:
            file.write(json.dumps({"kind": kind, **asdict(launched)}) + "\n")

    def truth(self) -> Truth:
        """Of everything launched since set-up."""
        path = self.folder / "launches.jsonl"
        whole = NOTHING
        for line in path.read_text().splitlines() if path.exists() else []:
            fields = json.loads(line)
            kind = fields.pop("kind")
            whole += (Launch(**fields) if kind == "launch" else Growth(**fields)).truth
        return whole

    # -- what was measured -------------------------------------------------------------

    def windows(self, last: int) -> list[dict[str, Any]]:
        windows: list[dict[str, Any]] = self._json(WINDOWS, "no message has been processed yet")["windows"]
        return windows[-last:]

    def streams_metrics(self) -> dict[str, Any]:
        found: dict[str, Any] = self._json(STREAMS, "no micro-batch has ended yet")
        return found

    def _json(self, name: str, missing: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text())
        except FileNotFoundError:
            raise HomeError(f"{self.folder}: {missing}") from None
