"""The producer's heartbeat on `bench.prod`, once a second, through JetStream."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from bench.contract.event import BIGINT


@dataclass(frozen=True)
class Heartbeat:
    run_id: str
    prod_max_seq: int
    prod_rate: int
    producer_ts_ms_now: int


def encode_heartbeat(heartbeat: Heartbeat) -> bytes:
    return json.dumps(asdict(heartbeat), separators=(",", ":")).encode()


def decode_heartbeat(data: bytes) -> Heartbeat:
    try:
        fields: Any = json.loads(data)
        heartbeat = Heartbeat(
            fields["run_id"], fields["prod_max_seq"], fields["prod_rate"], fields["producer_ts_ms_now"]
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a heartbeat: {error!r}") from None
    numbers = (heartbeat.prod_max_seq, heartbeat.prod_rate, heartbeat.producer_ts_ms_now)
    whole = all(type(number) is int and number in BIGINT for number in numbers)
    if not whole or not isinstance(heartbeat.run_id, str):
        raise ValueError(f"heartbeat with a field of the wrong type: {str(fields)[:200]}")
    return heartbeat
