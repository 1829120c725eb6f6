"""The options of `format("jetstream")`, typed and checked: an unknown or misspelt option is an error,
never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, cast

from bench.wire.connection import Server

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
Format = Literal["json", "binary"]

#: JetStream's own rule for names: they are one token of a subject and one path element on disk.
_NAME = re.compile(r"[^\s.*>/\\]+")
_SUBJECT = re.compile(r"[^\s.]+(\.[^\s.]+)*")
_O = TypeVar("_O", bound="LinkOptions")


@dataclass(frozen=True)
class Start:
    """Where a query without a checkpoint begins: exactly one of a word, a sequence or a time."""

    word: Literal["earliest", "latest", ""] = ""
    seq: int = 0
    time: datetime | None = None


@dataclass(frozen=True)
class LinkOptions:
    """How to reach the server; shared by source and sink."""

    servers: tuple[Server, ...] = ()
    stream: str = ""
    connect_timeout_ms: int = 5_000
    #: How long a lost server is tried again before the query fails.
    retry_timeout_ms: int = 30_000


@dataclass(frozen=True)
class SourceOptions(LinkOptions):
    subjects: tuple[str, ...] = ()
    start: Start = field(default_factory=lambda: Start("earliest"))
    max_offsets_per_trigger: int | None = None
    #: A batch waits until there is this much to read, or max_trigger_delay_ms have passed. See admission.py.
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    min_partitions: int = 1
    fail_on_data_loss: bool = True
    fetch_batch: int = 10_000
    #: How long a task waits for more events of a request before it hands over those it has. See fetch.py.
    linger_ms: int = 3
    #: Whether direct gets may be used where they are the cheaper way. See direct.py.
    direct_get: bool = True
    #: Of messages that a worker may read before a task asks for them, where direct gets are used; 0 is none.
    #: See ahead.py.
    read_ahead_bytes: int = 128 * 1024 * 1024
    durable: str = ""
    format: Format = "json"
    mode: Mode = "FAILFAST"
    #: Emit a tick row at each multiple of this (epoch ms); 0 is no ticks. See ticks.py.
    tick_ms: int = 0
    tick_grace_ms: int = 50
    tick_lead_ms: int = 0
    #: A folder on the executor in which each task tells where its time went; for measuring. See timings.py.
    timings: str = ""


@dataclass(frozen=True)
class SinkOptions(LinkOptions):
    subject: str = ""
    max_in_flight: int = 8_000
    ack_timeout_ms: int = 10_000


def _whole(least: int, most: int = 2**53) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if re.fullmatch(r"[0-9]{1,16}", text) else -1
        if not least <= number <= most:
            raise ValueError(
                f"wanted a whole number of at least {least}" + (f", at most {most}" if most < 2**53 else "")
            )
        return number

    return parse


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("wanted true or false")
    return text.lower() == "true"


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        for word in words:
            if text.lower() == word.lower():
                return word
        raise ValueError(f"wanted one of {', '.join(words)}")

    return parse


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("wanted a JetStream name: no blanks, dots, stars, '>' or slashes")
    return text


def _subjects(text: str) -> tuple[str, ...]:
    subjects = tuple(part.strip() for part in text.split(","))
    if not all(_SUBJECT.fullmatch(subject) for subject in subjects):
        raise ValueError("wanted subjects parted by commas, such as events.1,events.2")
    return subjects


def _publish_subject(text: str) -> str:
    if not _SUBJECT.fullmatch(text) or "*" in text or ">" in text:
        raise ValueError("wanted a subject without wildcards")
    return text


def parse_start(text: str) -> Start:
    if text.lower() in ("earliest", "latest"):
        return Start(cast(Literal["earliest", "latest"], text.lower()))
    if re.fullmatch(r"[0-9]{1,19}", text):
        if int(text) < 1:
            raise ValueError("stream sequences start at 1")
        return Start(seq=int(text))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("wanted earliest, latest, a stream sequence or an ISO timestamp") from None
    # A time without a zone means UTC: the driver's own zone must not decide what is read.
    return Start(time=time if time.tzinfo else time.replace(tzinfo=UTC))


_LINK: dict[str, tuple[str, Callable[[str], Any]]] = {
    "stream": ("stream", _name),
    "connectTimeoutMs": ("connect_timeout_ms", _whole(1)),
    "retryTimeoutMs": ("retry_timeout_ms", _whole(0)),
}
_SOURCE: dict[str, tuple[str, Callable[[str], Any]]] = _LINK | {
    "subjects": ("subjects", _subjects),
    "startingOffset": ("start", parse_start),
    "maxOffsetsPerTrigger": ("max_offsets_per_trigger", _whole(1)),
    "minOffsetsPerTrigger": ("min_offsets_per_trigger", _whole(1)),
    "maxTriggerDelayMs": ("max_trigger_delay_ms", _whole(1)),
    "minPartitions": ("min_partitions", _whole(1, 10_000)),
    "failOnDataLoss": ("fail_on_data_loss", _flag),
    "fetchBatch": ("fetch_batch", _whole(1, 1_000_000)),
    "lingerMs": ("linger_ms", _whole(0, 1_000)),
    "directGet": ("direct_get", _flag),
    "readAheadBytes": ("read_ahead_bytes", _whole(0)),
    "durable": ("durable", _name),
    "format": ("format", _one_of("json", "binary")),
    "mode": ("mode", _one_of("FAILFAST", "PERMISSIVE", "DROPMALFORMED")),
    "tickMs": ("tick_ms", _whole(1)),
    "tickGraceMs": ("tick_grace_ms", _whole(0)),
    "tickLeadMs": ("tick_lead_ms", _whole(0)),
    "timings": ("timings", str),
}
_SINK: dict[str, tuple[str, Callable[[str], Any]]] = _LINK | {
    "subject": ("subject", _publish_subject),
    "maxInFlight": ("max_in_flight", _whole(1, 1_000_000)),
    "ackTimeoutMs": ("ack_timeout_ms", _whole(1)),
}
#: Parsed together into `servers`.
_ADDRESS = ("servers", "user", "password", "token", "tlsCaFile")
#: Spark hands these to every sink.
_SPARKS_OWN = ("checkpointLocation", "queryName", "outputMode", "path")


def parse_source(given: Mapping[str, str]) -> SourceOptions:
    options = _parse(given, _SOURCE, SourceOptions)
    if options.tick_lead_ms and options.tick_lead_ms >= max(options.tick_ms, 1):
        raise ValueError("option tickLeadMs must be less than tickMs: a tick may not lead by a whole window")
    return options


def parse_sink(given: Mapping[str, str]) -> SinkOptions:
    return _parse(given, _SINK, SinkOptions)


def _parse(
    given: Mapping[str, str], known: dict[str, tuple[str, Callable[[str], Any]]], kind: type[_O]
) -> _O:
    by_lower = {name.lower(): name for name in (*known, *_ADDRESS)}  # Spark's options ignore case
    sparks_own = {name.lower() for name in _SPARKS_OWN}
    values: dict[str, Any] = {}
    address: dict[str, str] = {}
    for key, text in given.items():
        if key.lower() in sparks_own:
            continue
        name = by_lower.get(key.lower())
        if name is None:
            raise ValueError(
                f"unknown option {key!r}; known are {', '.join(sorted(by_lower.values(), key=str.lower))}"
            )
        if name in _ADDRESS:
            address[name] = text
            continue
        attribute, parse = known[name]
        try:
            values[attribute] = parse(text.strip())
        except ValueError as error:
            raise ValueError(f"option {name}={text!r}: {error}") from None
    if "stream" not in values:
        raise ValueError("option stream is missing: the name of the JetStream stream")
    return kind(servers=_servers(address), **values)


def _servers(address: dict[str, str]) -> tuple[Server, ...]:
    if not address.get("servers", "").strip():
        raise ValueError("option servers is missing: nats://host:port, several parted by commas")
    if bool(address.get("user")) != bool(address.get("password")):
        raise ValueError("options user and password belong together")
    return tuple(_server(url.strip(), address) for url in address["servers"].split(","))


def _server(url: str, address: dict[str, str]) -> Server:
    try:
        parsed = Server.from_url(url if "://" in url else f"nats://{url}")
    except ValueError as error:
        # The text itself is not shown: it may hold a password.
        raise ValueError(f"option servers: {error}") from None
    ca_file = address.get("tlsCaFile", "")
    return Server(
        parsed.host,
        parsed.port,
        address.get("user") or parsed.user,
        address.get("password") or parsed.password,
        address.get("token") or parsed.token,
        parsed.tls or bool(ca_file),
        ca_file,
    )
