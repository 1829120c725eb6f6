"""`python -m bench fakegen`: publishes topics that join in a known way, open-loop, the same by seed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from bench.duration import seconds_of
from bench.infra.external_url import NATS_VARIABLE, nats_endpoint
from bench.joins.frames import TopicFrames
from bench.joins.publishing import LivePublisher, Published, publish_ahead
from bench.joins.streams import JoinStreams, stream_of
from bench.joins.truth import truth_of_rows
from bench.joins.workload import Kind, Lookup, Ttl, Workload
from bench.wire.errors import WireError

_KINDS: dict[str, Kind] = {"dimensions": "dimension", "events": "paired", "rolling": "rolling"}
_TOPICS_HELP = "parted by commas: the facts, then what they are joined to"
_JOIN_HELP = (
    "what the other topics are. dimensions: tables that never expire; events: one for each fact, before or "
    "after it; rolling: a status of each key, good for --ttl [%(default)s]"
)
_LOCAL = "nats://127.0.0.1:4222"
_CHUNK = 100_000
_MOST_RATE, _MOST_S, _MOST_KEYS = 1_000_000, 7 * 86_400, 10_000_000


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "fakegen",
        help="publish topics that join in a known way",
        description="Publishes topics to JetStream (streams JOIN_<topic>, subjects join.<topic>) at a "
        "constant rate that waits for nobody. Rows, keys and matches are functions of --seed and a row's "
        "number alone, so the joined rows are known beforehand: --expected writes them. Streams of the same "
        "names that an earlier run left are replaced.",
        epilog="Exit codes: 0 all published, 1 not, 2 usage.",
    )
    add = parser.add_argument
    add("--topics", required=True, type=_topics, help=_TOPICS_HELP)
    add("--rate", required=True, type=_whole(1, _MOST_RATE), help="rows a second, over all topics")
    add("--duration", required=True, type=_seconds, metavar="T", help="90s, 20m, 1h30m")
    add("--join", choices=tuple(_KINDS), default="dimensions", help=_JOIN_HELP)
    add(
        "--hit-rate",
        type=float,
        default=0.95,
        help="share of facts that find all they look for [%(default)s]",
    )
    add("--seed", type=_whole(0, 2**31), default=1, help="[%(default)s]")
    add(
        "--keys",
        type=_whole(1, _MOST_KEYS),
        default=10_000,
        help="rows of a dimension, or devices [%(default)s]",
    )
    add("--ttl", type=_seconds, default=300, metavar="T", help="of topics that expire, in event time [5m]")
    add("--payload-bytes", type=_whole(1, 1_000_000), default=256, help="bytes of a row [%(default)s]")
    add("--servers", "--brokers", default=None, help=f"[{NATS_VARIABLE} or {_LOCAL}]")
    add("--expected", type=Path, metavar="FILE", help="write the rows of a right join there, as JSON lines")
    add("--allow-remote-target", action="store_true", help="the server is mine to load")
    parser.set_defaults(do=lambda options: run(options, parser.error))


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text[:20]!r}: wanted a whole number from {low} to {high}")
        return number

    return parse


def _seconds(text: str) -> int:
    try:
        seconds = seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:20]!r}: {error}") from None
    if not 1 <= seconds <= _MOST_S:
        raise argparse.ArgumentTypeError(f"{text[:20]!r}: wanted one second to seven days")
    return seconds


def _topics(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def workload_of(options: argparse.Namespace) -> Workload:
    """ValueError says what cannot be had."""
    fact, *others = options.topics
    kind = _KINDS[options.join]
    dimensions = tuple(others) if kind == "dimension" else ()
    # As many facts as the rate of all topics leaves; event time is the schedule's.
    facts = options.rate * options.duration // (1 + len(others) if kind == "paired" else 1)
    step_us = max(10, options.duration * 1_000_000 // max(1, facts))
    spread = 2
    while spread < 4_096 and spread * 2 * step_us <= options.ttl * 1_000_000:
        spread *= 2
    return Workload(
        fact,
        tuple(Lookup(topic, kind) for topic in others),
        max(1, facts),
        options.hit_rate,
        options.seed,
        Ttl(options.ttl * 1_000_000, (), dimensions),
        "smart" if kind == "paired" and others else "immediate",
        tuple(others) if kind == "paired" else (),
        step_us,
        options.keys,
        spread,
        options.payload_bytes,
    )


def run(options: argparse.Namespace, refuse: Callable[[str], Any]) -> int:
    url = options.servers or os.environ.get(NATS_VARIABLE) or _LOCAL
    endpoint = nats_endpoint(url, allow_remote_target=options.allow_remote_target)
    try:
        workload = workload_of(options)
        # Tried once, so that what cannot be published is said before anything is deleted.
        truth_of_rows(workload, np.arange(1, dtype=np.int64))
        for topic in workload.topics:
            TopicFrames(workload, topic, 1, 1, "_INBOX")
        if options.expected is not None:
            write_expected(workload, options.expected)
    except (ValueError, OSError) as error:
        refuse(str(error))
    try:
        # Knocked at first: nats-py would try for a quarter of a minute, in silence.
        JoinStreams(endpoint).connect("fakegen").close()
        with JoinStreams(endpoint) as streams:
            return _told(workload, _publish(streams, workload, options.rate, sys.stderr))
    except WireError as error:
        print(f"fakegen: {error}", file=sys.stderr)
        return 1


def _publish(streams: JoinStreams, workload: Workload, rate: int, screen: TextIO) -> Published:
    streams.make_topics(workload.topics)
    ahead = publish_ahead(streams.connect, workload)
    if ahead:
        print(f"fakegen: {ahead:,} rows published ahead of the facts", file=screen, flush=True)
    publisher = LivePublisher(streams.connect, workload, rate)
    publisher.start()
    try:
        before = 0
        while publisher.running:
            time.sleep(1.0)
            sent = publisher.sent
            told = (
                f"{sent:,} of {publisher.rows:,} rows, {sent - before:,}/s, {publisher.acked:,} acknowledged"
            )
            print(f"fakegen: {told}", file=screen, flush=True)
            before = sent
        return publisher.ended()
    finally:
        publisher.stop()


def _told(workload: Workload, published: Published) -> int:
    names = ", ".join(stream_of(topic) for topic in workload.topics)
    rate = published.rows / published.elapsed_s
    slip = "-" if published.slip_ms_p99 is None else f"{published.slip_ms_p99:.1f} ms"
    print(
        f"fakegen: {published.acked:,} of {published.rows:,} rows stored in {names}; {rate:,.0f}/s, "
        f"slip p99 {slip}, published again {published.republished:,}"
    )
    return 0 if published.acked == published.rows else 1


def write_expected(workload: Workload, path: Path) -> None:
    """One line a row of the right join: the fact, its match in each topic (null: none), the sum of values."""
    names = [f"m{which}" for which in range(len(workload.lookups))]
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, workload.facts, _CHUNK):
            index = np.arange(first, min(first + _CHUNK, workload.facts), dtype=np.int64)
            truth = truth_of_rows(workload, index)
            rows = zip(
                index[truth.emitted], truth.totals[truth.emitted], truth.matches[truth.emitted], strict=True
            )
            for at, total, matches in rows:
                row: dict[str, int | None] = {"seq": int(at) + 1, "total": int(total)}
                row |= {name: int(one) or None for name, one in zip(names, matches, strict=True)}
                file.write(json.dumps(row) + "\n")
