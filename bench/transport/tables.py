"""The tables of the transport suite: cells beside `nats bench` and published figures, and faults."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.suite_page import DASH, markdown_table
from bench.transport.choice import published
from bench.transport.faults import FaultOutcome
from bench.transport.outcome import LEDGER, CellOutcome, Spread
from bench.verdict import Verdict

_CELLS = (
    *(
        "cell",
        "verdict",
        "publish/s",
        "a publisher: min / avg / max / sd",
        "a subscriber",
        "p50 / p95 / p99 ms",
    ),
    *("server CPU s/M", "client CPU s/M", "stored ÷ sent", "lost, dup, disorder"),
)
_PEERS = (
    *("cell", "publish/s", "`nats bench`", "ratio", "a subscriber/s", "`nats bench`", "ratio"),
    *("published: a publisher/s", "ours", "published: a subscriber/s", "ours"),
)
_FAULTS = (
    *("fault", "verdict", "acked", "acked and lost", "twice", "published again", "no ack for"),
    *("healthy after", "leader"),
)


def cells_table(outcomes: Sequence[CellOutcome]) -> list[str]:
    return markdown_table([_CELLS, *(_cell_row(one) for one in outcomes)])


def peers_table(outcomes: Sequence[CellOutcome]) -> list[str]:
    """Only what was measured by both, or has a published figure."""
    rows = [_peer_row(one) for one in outcomes if one.peers or published(one.cell)]
    return markdown_table([_PEERS, *rows]) if rows else []


def faults_table(outcomes: Sequence[FaultOutcome]) -> list[str]:
    return markdown_table([_FAULTS, *(_fault_row(one) for one in outcomes)])


def _cell_row(one: CellOutcome) -> tuple[str, ...]:
    verdict, metrics = one.report.verdict, one.metrics
    if verdict is Verdict.INVALID:
        return (one.cell.name, verdict.value, *[DASH] * (len(_CELLS) - 2))
    latencies = " / ".join(_number(metrics[f"latency_ms_p{p}"], 1) for p in (50, 95, 99))
    return (
        one.cell.name,
        verdict.value,
        _number(metrics["published_per_s"]),
        _spread(one.publishers),
        _number(metrics["subscriber_per_s"]),
        latencies,
        _number(metrics["server_cpu_s_per_million"]),
        _number(metrics["client_cpu_s_per_million"]),
        _number(metrics["stored_share"], 2),
        ", ".join(_number(metrics[name]) for name in LEDGER[:3]),
    )


def _peer_row(one: CellOutcome) -> tuple[str, ...]:
    metrics, theirs = one.metrics, published(one.cell)
    if one.report.verdict is Verdict.INVALID:
        return (one.cell.name, *[DASH] * (len(_PEERS) - 1))
    return (
        one.cell.name,
        _number(metrics["published_per_s"]),
        _number(metrics.get("peer_published_per_s")),
        _number(metrics.get("publish_ratio"), 2),
        _number(metrics["subscriber_per_s"]),
        _number(metrics.get("peer_subscriber_per_s")),
        _number(metrics.get("subscribe_ratio"), 2),
        _number(theirs.publisher_per_s if theirs else None),
        _number(metrics["publisher_per_s"]),
        _number(theirs.subscriber_per_s if theirs else None),
        _number(metrics["subscriber_per_s"]),
    )


def _fault_row(one: FaultOutcome) -> tuple[str, ...]:
    metrics = one.metrics
    moved = f"{one.leader_before} → {one.leader_after}"
    return (
        f"{one.fault.action} the {one.fault.target} ({one.hurt})",
        one.report.verdict.value,
        _number(metrics["acked"]),
        _number(metrics["lost_acked"]),
        _number(metrics["duplicates"]),
        _number(metrics["republished"]),
        f"{_number(metrics['publish_stall_ms'])} ms",
        f"{_number(metrics['healthy_after_ms'])} ms",
        one.leader_before if one.leader_before == one.leader_after else moved,
    )


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return DASH
    return f"{spread.lowest:,.0f} / {spread.mean:,.0f} / {spread.highest:,.0f} / {spread.deviation:,.0f}"


def _number(value: float | int | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"
