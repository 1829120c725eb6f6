"""Bento's configuration for a turn: one of two inputs, one of two pipelines, and counters at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench.bento.config import nats_url
from bench.contract.names import FLUSH_KEY
from bench.driverbench.broker import STREAM
from bench.infra.endpoint import NatsEndpoint
from bench.source.turn import JETSTREAM, Mode, Pipeline

#: What a turn's result is read from.
COUNT, SUM = "jetlag_count", "jetlag_sum"
#: The same policy for both inputs, so that they differ by where the events come from alone.
BATCH_COUNT = 1_000
BATCH_PERIOD = "20ms"
#: Bounds what lies in the client: it drops what it cannot hold (64 MB).
MAX_ACK_PENDING = 16_384

_KEEP = f'root = if this.value % 2 == 0 && this.key != "{FLUSH_KEY}" {{ this }} else {{ deleted() }}'
#: By key within a batch: Bento has no windows by the events' own time.
_GROUPS = """
root = if batch_index() == 0 {
  {"count": batch_size(), "value": json("value").from_all().sum().int64()}
} else {
  deleted()
}
"""


def source_config(address: str, mode: Mode, pipeline: Pipeline, nats: NatsEndpoint, files: str) -> str:
    """As JSON, which is YAML too; every dollar escaped, or Bento would take it for a variable."""
    child = _jetstream(nats) if mode == JETSTREAM else _files(files)
    config = {
        "http": {"address": address},
        "logger": {"level": "WARN", "format": "logfmt"},
        "metrics": {"prometheus": {}},
        # When the files have been read Bento ends, and its counters with it.
        "shutdown_delay": "60s",
        "input": {
            "batched": {"child": child, "policy": {"count": BATCH_COUNT, "period": BATCH_PERIOD}},
            "processors": [{"mapping": _KEEP}],
        },
        "pipeline": {"processors": list(_aggregate() if pipeline == "aggregate" else _count("1"))},
        "output": {"drop": {}},
    }
    return json.dumps(config, indent=1).replace("$", "\\u0024")


def _files(pattern: str) -> dict[str, Any]:
    return {"file": {"paths": [pattern], "scanner": {"lines": {}}}}


def _jetstream(nats: NatsEndpoint) -> dict[str, Any]:
    return {
        "nats_jetstream": {
            "urls": [nats_url(nats)],
            "stream": STREAM,
            "subject": "driver.*",
            "deliver": "all",
            "ack_wait": "30s",
            "max_ack_pending": MAX_ACK_PENDING,
        }
    }


def _aggregate() -> Sequence[dict[str, Any]]:
    grouped = {"group_by_value": {"value": '${! json("key") }'}}
    return (grouped, {"mapping": _GROUPS}, *_count('${! json("count") }'))


def _count(by: str) -> Sequence[dict[str, Any]]:
    return (
        {"metric": {"type": "counter_by", "name": COUNT, "value": by}},
        {"metric": {"type": "counter_by", "name": SUM, "value": '${! json("value") }'}},
    )
