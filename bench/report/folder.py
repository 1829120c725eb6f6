"""Reads a run's folder. Partial files give a partial run, never a crash: a cut-off run is worth a look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bench.report.histogram_log import read_histogram_log
from bench.report.plain import Json, items, mapping, mappings, number, numbers, text
from bench.report.run import Component, GateRow, Hop, Ledger, OutageRow, Run
from bench.verdict import Verdict

_FILES = ("result.json", "manifest.json", "metrics.jsonl")


def is_run_folder(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _FILES)


def read_run(folder: Path) -> Run:
    damage: list[str] = []
    result = _read_json(folder / "result.json", damage)
    manifest = _read_json(folder / "manifest.json", damage)
    metric_lines = _read_lines(folder / "metrics.jsonl", damage)
    resources = _read_lines(folder / "resources.jsonl", damage)
    load = mapping(manifest.get("load"))
    warmup_s = number(load.get("warmup_s")) or 0.0
    histograms = read_histogram_log(folder / "latency.hlog", warmup_s)
    if histograms.damaged_lines:
        damage.append(f"latency.hlog: {histograms.damaged_lines} lines cannot be read")
    case, variant = _name(result, manifest, folder)
    gates = mapping(result.get("gates"))
    metrics = numbers(result.get("metrics"))
    return Run(
        run_id=text(result.get("run_id")) or text(manifest.get("run_id")) or _readable(folder),
        case=case,
        variant=variant,
        verdict=_verdict(result),
        invalid_reasons=_reasons(result, gates),
        gates=mappings(gates.get("results"), _gate),
        metrics=metrics,
        lag_trend=text(result.get("lag_trend")) or "unknown",
        latency_us=numbers(result.get("latency_us")),
        hops=tuple(Hop(name, numbers(one)) for name, one in mapping(result.get("hops_us")).items()),
        ledger=_ledger(result.get("ledger")),
        outages=mappings(result.get("outages"), _outage),
        components=tuple(_component(*pair) for pair in mapping(result.get("resources")).items()),
        driver_cpu_s_per_million=numbers(result.get("driver_cpu_s_per_million")),
        emission_delay_ms=_emission_delay_ms(result, metrics),
        window_s=_window_s(result, manifest),
        warmup_s=warmup_s,
        measure_s=number(load.get("measure_s")),
        target_rate_per_s=number(load.get("rate_per_s")),
        samples=_in_order(line for line in metric_lines if "kind" not in line),
        resources=_in_order(resources),
        progress=_in_order(
            _with_time(line, histograms.start_epoch_s) for line in metric_lines if "kind" in line
        ),
        histograms=histograms,
        manifest=manifest,
        details=mapping(result.get("details")),
        damage=tuple(damage),
        # Only the run that ends a search has this file.
        search=text(_read_json(folder / "search.json", []).get("sentence")),
    )


def _read_json(path: Path, damage: list[str]) -> Json:
    try:
        content = orjson.loads(path.read_bytes())
    except OSError:
        damage.append(f"{path.name} is missing")
        return {}
    except orjson.JSONDecodeError:
        damage.append(f"{path.name} cannot be read")
        return {}
    if not isinstance(content, dict):
        damage.append(f"{path.name} holds no object")
    return mapping(content)


def _read_lines(path: Path, damage: list[str]) -> list[Json]:
    """Every whole line; one that was being written when the run was killed is counted, not shown."""
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    except OSError:
        damage.append(f"{path.name} is missing")
        return []
    records: list[Json] = []
    for line in lines:
        try:
            record: Any = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            records.append(record)
    if len(records) < len(lines):
        damage.append(f"{path.name}: {len(lines) - len(records)} of {len(lines)} lines cannot be read")
    return records


def _in_order(records: Iterable[Json]) -> tuple[Json, ...]:
    """Those with a time, by time: a chart's line must not run backwards."""
    timed = [record for record in records if number(record.get("t_s")) is not None]
    return tuple(sorted(timed, key=lambda record: float(record["t_s"])))


def _with_time(record: Json, start_epoch_s: float | None) -> Json:
    """An engine tells the wall clock's time; charts count from the run's start."""
    if "t_s" in record or start_epoch_s is None:
        return record
    try:
        at = datetime.fromisoformat(text(record.get("timestamp")))
    except ValueError:
        return record
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return {**record, "t_s": round(at.timestamp() - start_epoch_s, 3)}


def _name(result: Json, manifest: Json, folder: Path) -> tuple[str, str | None]:
    """Case and variant; the manifest's "B-mock" where there is no result, else the folder's name."""
    if case := text(result.get("case")):
        return case, text(result.get("variant")) or None
    case, _, variant = text(manifest.get("case")).partition("-")
    return case or _readable(folder), variant or None


def _readable(folder: Path) -> str:
    """A file's name may be any bytes; a report is UTF-8."""
    return folder.name.encode("utf-8", "replace").decode("utf-8")


def _verdict(result: Json) -> Verdict:
    try:
        return Verdict(text(result.get("verdict")))
    except ValueError:
        return Verdict.INVALID


def _reasons(result: Json, gates: Json) -> tuple[str, ...]:
    reasons = tuple(text(reason) for reason in items(gates.get("invalid_reasons")))
    if _verdict(result) is not Verdict.INVALID or reasons:
        return reasons
    told = text(result.get("verdict"))
    return (f"unknown verdict {told!r}" if told else "the run did not end: it left no result",)


def _gate(row: Json) -> GateRow:
    return GateRow(
        metric=text(row.get("metric")),
        comparison=text(row.get("comparison")),
        bound=number(row.get("bound")),
        observed=number(row.get("observed")),
        status=text(row.get("status")) or "missing",
        why=text(row.get("why")),
        kind=text(row.get("kind")) or "gate",
    )


def _ledger(value: object) -> Ledger | None:
    if not isinstance(value, dict):
        return None
    examples = mapping(value.get("examples"))
    return Ledger(
        numbers(value), {kind: [text(one) for one in items(found)] for kind, found in examples.items()}
    )


def _outage(row: Json) -> OutageRow:
    return OutageRow(
        text(row.get("who")), text(row.get("what")), number(row.get("at_s")), number(row.get("lasted_ms"))
    )


def _component(name: str, value: object) -> Component:
    row = mapping(value)
    return Component(name, number(row.get("cpu_cores_mean")), number(row.get("rss_bytes_max")))


def _emission_delay_ms(result: Json, metrics: dict[str, float | int]) -> dict[str, float | int]:
    """A figure, or several by name (p50, p99, max), of result.json; else metrics named emission_delay_ms_…"""
    told = result.get("emission_delay_ms")
    single = number(told)
    if single is not None:
        return {"mean": single}
    prefix = "emission_delay_ms_"
    return numbers(told) or {
        name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)
    }


def _window_s(result: Json, manifest: Json) -> float | None:
    """The case's window, wherever the manifest or the result tells it."""
    groups = (mapping(manifest.get(key)) for key in ("windows", "load", "engine", "settings"))
    for place in (result, manifest, *groups):
        for key, per_s in (("window_s", 1), ("window_ms", 1000)):
            value = number(place.get(key))
            if value is not None and value > 0:
                return value / per_s
    return None
