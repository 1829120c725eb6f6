"""Arroyo's REST API, as much of it as the suite needs."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 30.0


class ArroyoError(Exception):
    """Arroyo answered, and did not do it; the message is its own."""


@dataclass(frozen=True)
class Job:
    """A pipeline's job: its state in Arroyo's words, and how often it was started."""

    state: str
    run_id: int
    failure: str | None


class ArroyoApi:
    """`url` is the address of the API's server, without a path."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def ping(self, timeout_s: float = TIMEOUT_S) -> None:
        self._ask("GET", "/ping", timeout_s=timeout_s)

    def create_pipeline(self, name: str, query: str, checkpoint_interval_s: float) -> str:
        """Returns its id. Parallelism 1: further subtasks would share the name of one consumer."""
        body = {
            "name": name,
            "query": query,
            "parallelism": 1,
            "checkpoint_interval_micros": int(checkpoint_interval_s * 1_000_000),
        }
        return str(self._ask("POST", "/pipelines", body)["id"])

    def job(self, pipeline_id: str, timeout_s: float = TIMEOUT_S) -> Job | None:
        """The pipeline's newest job; None before there is one."""
        jobs = self._ask("GET", f"/pipelines/{pipeline_id}/jobs", timeout_s=timeout_s).get("data") or []
        if not jobs:
            return None
        return Job(str(jobs[0]["state"]), int(jobs[0].get("run_id", 0)), jobs[0].get("failure_message"))

    def stop_pipeline(self, pipeline_id: str) -> None:
        self._ask("PATCH", f"/pipelines/{pipeline_id}", {"stop": "immediate"})

    def delete_pipeline(self, pipeline_id: str) -> None:
        self._ask("DELETE", f"/pipelines/{pipeline_id}")

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, timeout_s: float = TIMEOUT_S
    ) -> dict[str, Any]:
        """ArroyoError with Arroyo's words, or OSError where there is no Arroyo."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ArroyoError(f"{method} {path}: {_told(error)}") from None
        try:
            content = json.loads(text) if text.strip() else {}
        except ValueError:
            raise ArroyoError(f"{method} {path}: the answer is not JSON") from None
        return content if isinstance(content, dict) else {}


def _told(error: urllib.error.HTTPError) -> str:
    """Arroyo explains itself in a field `error`."""
    text = error.read(4000).decode(errors="replace")
    try:
        explained = json.loads(text).get("error")
    except (ValueError, AttributeError):
        explained = None
    return str(explained or text.strip() or error.reason)
