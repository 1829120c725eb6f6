"""What the server says about a stream: which sequences it holds, and what time it is there."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spark_jobs.jetstream.link import Link
from spark_jobs.jetstream.options import Start

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StreamState:
    """`next_seq` is the sequence the next event will get, so [first_seq, next_seq) is what is there."""

    first_seq: int
    next_seq: int
    #: The server's clock when it answered. Ticks go by it and not by ours: it also stamps the events.
    now_ms: int
    #: What decides how the stream is best read: see direct.py.
    direct: bool = False
    in_files: bool = False
    replicas: int = 1
    has_gaps: bool = False
    mean_bytes: int = 0


def read_state(link: Link, stream: str) -> StreamState:
    answer = link.request(f"STREAM.INFO.{stream}", {})
    state, config = answer["state"], answer["config"]
    return StreamState(
        int(state["first_seq"]),
        int(state["last_seq"]) + 1,
        to_ns(answer["ts"]) // 1_000_000,
        direct=bool(config.get("allow_direct")),
        in_files=config.get("storage") == "file",
        replicas=int(config.get("num_replicas", 1)),
        has_gaps=bool(state.get("num_deleted")),
        mean_bytes=int(state["bytes"]) // max(1, int(state["messages"])),
    )


def to_ns(text: str) -> int:
    """Go's RFC 3339 time with up to nine decimals, which datetime cannot hold, as epoch ns."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", text)
    if found is None:
        raise ValueError(f"not a time: {text!r}")
    whole = datetime.fromisoformat(found[1] + found[3])
    return (whole - _EPOCH) // timedelta(seconds=1) * 10**9 + int((found[2] or "").ljust(9, "0"))


def resolve_start(link: Link, stream: str, start: Start) -> int:
    """The first sequence to read."""
    state = read_state(link, stream)
    if start.word == "latest":
        return state.next_seq
    if start.word == "earliest":
        return min(max(state.first_seq, 1), state.next_seq)
    if start.time is None:
        return start.seq
    # A consumer made for this question only: the server finds the first message stored at or after the time.
    name = f"spark-{secrets.token_hex(6)}"
    config = {
        "name": name,
        "deliver_policy": "by_start_time",
        "opt_start_time": start.time.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "ack_policy": "none",
        "mem_storage": True,
        "inactive_threshold": 5_000_000_000,
    }
    body = {"stream_name": stream, "config": config, "action": "create"}
    answer = link.request(f"CONSUMER.CREATE.{stream}.{name}", body)
    link.request(f"CONSUMER.DELETE.{stream}.{name}", {})
    return max(int(answer["delivered"]["stream_seq"]) + 1, state.first_seq)
