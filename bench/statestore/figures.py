"""What a run's batches.jsonl and progress.jsonl tell: rates, latencies, pauses, what was written. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spark_jobs.statestore.latencies import joined, quantile_ms
from spark_jobs.statestore.names import BATCHES, PROGRESS

Line = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """One micro-batch, by the processor's account and by Spark's."""

    batch_id: int
    done_ms: int
    messages: int
    gets: int
    puts: int
    removes: int
    scanned: int
    bytes_put: int
    step_ms: float
    start_ms: dict[int, int]
    complete_ms: dict[int, int]
    #: Spark's; empty if it did not live to tell.
    progress: Line

    @property
    def trigger_ms(self) -> int:
        return int(self.progress.get("trigger_ms", 0))

    @property
    def commit_ms(self) -> int:
        """Of the state store."""
        return int(self.progress.get("state_commit_ms", 0))

    def state(self, name: str) -> int:
        return int(self.progress.get("state", {}).get(name, 0))


def read_lines(path: Path) -> list[Line]:
    """Whole lines only: the last one may be being written."""
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def read_batches(folder: Path) -> list[Batch]:
    """A batch that was run again after a crash counts once, as it was at last."""
    told = {line["batch_id"]: line for line in read_lines(folder / PROGRESS)}
    last = {line["batch_id"]: line for line in read_lines(folder / BATCHES)}
    return [_batch(line, told.get(number, {})) for number, line in sorted(last.items())]


def _batch(line: Line, progress: Line) -> Batch:
    stats = line["stats"]

    def whole(name: str) -> Any:
        return sum(one[name] for one in stats)

    return Batch(
        line["batch_id"],
        line["done_ms"],
        whole("messages"),
        whole("gets"),
        whole("puts"),
        whole("removes"),
        whole("scanned"),
        whole("bytes_put"),
        whole("ms"),
        _buckets(one["start_ms"] for one in stats),
        _buckets(one["complete_ms"] for one in stats),
        progress,
    )


def _buckets(parts: Iterable[dict[str, int]]) -> dict[int, int]:
    """JSON has made strings of the numbers."""
    return joined({int(bucket): count for bucket, count in part.items()} for part in parts)


@dataclass(frozen=True)
class Measured:
    """Over micro-batches that had messages, without the first ones, in which the JVM warms up."""

    seconds: float
    messages: int
    messages_per_s: float
    mb_per_s: float
    start_ms_p50: float | None
    start_ms_p99: float | None
    complete_ms_p50: float | None
    complete_ms_p99: float | None
    batch_ms_p50: float | None
    batch_ms_max: int
    commit_ms_p50: float | None
    commit_ms_max: int
    #: The longest time between the ends of two batches, while there was something to do.
    pause_ms_max: int
    call_us: float


def measure(batches: Sequence[Batch], skip: int = 0) -> Measured | None:
    """None if too little happened to say anything."""
    busy = [batch for batch in batches if batch.messages]
    counted = busy[skip:] if len(busy) >= skip + 2 else busy
    if len(counted) < 2:
        return None
    # The first counted one gives the beginning only.
    begun_ms, rest = counted[0].done_ms, counted[1:]
    seconds = max(1, rest[-1].done_ms - begun_ms) / 1000
    messages = sum(batch.messages for batch in rest)
    written = sum(batch.bytes_put for batch in rest)
    starts = joined(batch.start_ms for batch in rest)
    completes = joined(batch.complete_ms for batch in rest)
    triggers = sorted(batch.trigger_ms for batch in rest)
    commits = sorted(batch.commit_ms for batch in rest)
    calls = sum(batch.gets + batch.puts + batch.removes for batch in rest)
    return Measured(
        seconds=seconds,
        messages=messages,
        messages_per_s=messages / seconds,
        mb_per_s=written / 1e6 / seconds,
        start_ms_p50=quantile_ms(starts, 0.5),
        start_ms_p99=quantile_ms(starts, 0.99),
        complete_ms_p50=quantile_ms(completes, 0.5),
        complete_ms_p99=quantile_ms(completes, 0.99),
        batch_ms_p50=_middle(triggers),
        batch_ms_max=triggers[-1],
        commit_ms_p50=_middle(commits),
        commit_ms_max=commits[-1],
        pause_ms_max=max(two.done_ms - one.done_ms for one, two in pairwise(counted)),
        call_us=sum(batch.step_ms for batch in rest) * 1000 / max(1, calls),
    )


def _middle(ordered: Sequence[int]) -> float | None:
    return float(ordered[len(ordered) // 2]) if ordered else None


def last_totals(folder: Path) -> dict[str, int]:
    """Of all partitions, as the last batch that worked on each has told; for the live line."""
    parts: dict[str, dict[str, int]] = {}
    written = 0
    for line in read_lines(folder / BATCHES):
        for one in line["stats"]:
            parts[one["slot"]] = one["totals"]
            written += one["bytes_put"]
    names = {name for totals in parts.values() for name in totals}
    return {name: sum(totals[name] for totals in parts.values()) for name in names} | {"bytes_put": written}


def live_line(before: dict[str, int], now: dict[str, int], seconds: float) -> str:
    def rate(name: str) -> float:
        return (now.get(name, 0) - before.get(name, 0)) / seconds

    return (
        f"{rate('messages'):,.0f} messages/s  {rate('bytes_put') / 1e6:.1f} MB/s written  "
        f"{now.get('ended', 0):,} of {now.get('workflows', 0):,} workflows ended  "
        f"{now.get('timed_out', 0):,} tasks timed out"
    )
