"""The event on `events.<p>`: its JSON, and the closed form of what an engine must make of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bench.contract.names import check_run_id

#: value = 3·seq + 1: linear, so sums have a closed form, and neither seq nor constant,
#: so that an engine which sums the wrong column or drops an event cannot come out right.
VALUE_FACTOR = 3
VALUE_OFFSET = 1


#: What a BIGINT column and an int64 array can hold. JSON has no such bound, and a larger number would stop
#: a driver that only meant to count a foreign message.
BIGINT = range(-(2**63), 2**63)


def value_of(seq: int) -> int:
    return VALUE_FACTOR * seq + VALUE_OFFSET


@dataclass(frozen=True)
class Event:
    run_id: str
    seq: int
    producer_ts_ms: int
    key: str
    value: int

    @property
    def event_id(self) -> str:
        return f"{self.run_id}-{self.seq}"


def key_of(seq: int, num_keys: int) -> str:
    return f"k{seq % num_keys}"


def make_event(run_id: str, seq: int, producer_ts_ms: int, num_keys: int) -> Event:
    if seq < 1:
        raise ValueError(f"seq starts at 1, not {seq}")
    return Event(check_run_id(run_id), seq, producer_ts_ms, key_of(seq, num_keys), value_of(seq))


def encode_event(event: Event, payload_bytes: int) -> bytes:
    """The event as JSON of exactly `payload_bytes` bytes; the pad is in field `payload`."""
    fields = {
        "run_id": event.run_id,
        "event_id": event.event_id,
        "seq": event.seq,
        "producer_ts_ms": event.producer_ts_ms,
        "key": event.key,
        "value": event.value,
        "payload": "",
    }
    bare = json.dumps(fields, separators=(",", ":")).encode()
    if len(bare) > payload_bytes:
        raise ValueError(f"payload_bytes {payload_bytes} is too small: this event needs {len(bare)}")
    return bare[:-2] + b"x" * (payload_bytes - len(bare)) + b'"}'


def decode_event(data: bytes) -> Event:
    """The event in `data`; ValueError names what is wrong with it."""
    try:
        fields: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"event is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"event is not a JSON object but {type(fields).__name__}")
    try:
        event = Event(
            run_id=_text(fields, "run_id"),
            seq=_whole(fields, "seq"),
            producer_ts_ms=_whole(fields, "producer_ts_ms"),
            key=_text(fields, "key"),
            value=_whole(fields, "value"),
        )
    except KeyError as error:
        raise ValueError(f"event lacks field {error}") from None
    if fields.get("event_id") != event.event_id:
        raise ValueError(f"event_id is {fields.get('event_id')!r}, not {event.event_id!r}")
    return event


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise ValueError(f"field {name} is not text: {value!r}")
    return value


def _whole(fields: dict[str, Any], name: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"field {name} is not a whole number: {value!r}")
    if value not in BIGINT:
        raise ValueError(f"field {name} does not fit into 64 bits")
    return value


@dataclass(frozen=True)
class KeyTotals:
    count: int
    sum_value: int


def expected_totals(first_seq: int, last_seq: int, key_index: int, num_keys: int) -> KeyTotals:
    """count and sum(value) of key `k<key_index>` over first_seq..last_seq, in closed form."""
    first = first_seq + (key_index - first_seq) % num_keys
    if first > last_seq:
        return KeyTotals(0, 0)
    count = (last_seq - first) // num_keys + 1
    sum_seq = count * first + num_keys * (count * (count - 1) // 2)
    return KeyTotals(count, VALUE_FACTOR * sum_seq + VALUE_OFFSET * count)
