"""joins.openmetrics: the suite's figures in the OpenMetrics text format."""

from __future__ import annotations

from collections.abc import Sequence

from bench.joins.outcome import JoinOutcome
from bench.report.openmetrics import Family, families_text
from bench.verdict import Verdict

_PER_S = "events_per_second"
#: Our metric: name, unit, help. Counters are of a run that has ended, so they are gauges here.
_GAUGES = {
    "rows": ("jetlag_join_processed_events", "events", "Rows of all streaming topics that were read."),
    "events_per_s": (f"jetlag_join_rate_{_PER_S}", _PER_S, "Rows read a second."),
    "join_rate": ("jetlag_join_success_ratio", "ratio", "Facts that found all they look for."),
    "expected_rate": ("jetlag_join_expected_ratio", "ratio", "Facts that must find all they look for."),
    "lookup_us": ("jetlag_join_lookup_seconds", "seconds", "State: look and update of a row, mean."),
    "execution_ms_p50": ("jetlag_join_execution_seconds", "seconds", "Execution of a micro-batch, median."),
    "memory_bytes_max": ("jetlag_join_memory_bytes", "bytes", "Most memory of the engine's processes."),
    "state_bytes_max": ("jetlag_join_state_bytes", "bytes", "Most memory of the state."),
    "cache_bytes_max": (
        "jetlag_join_rocksdb_cache_bytes",
        "bytes",
        "RocksDB's block cache, where it is used.",
    ),
    "state_rows_max": ("jetlag_join_state_entries", "", "Most rows in the state."),
    "evictions": ("jetlag_join_state_evictions", "", "Rows that left the state."),
    **{
        name: (f"jetlag_join_{name}_rows", "rows", f"Rows of the ledger: {name}.")
        for name in ("missing", "duplicates", "wrong", "unexpected", "late")
    },
}
_FACTORS = {"lookup_us": 1e-6, "execution_ms_p50": 1e-3}


def joins_openmetrics(outcomes: Sequence[JoinOutcome]) -> str:
    """An INVALID case appears with its verdict, never with a figure."""
    verdicts = Family("jetlag_join", "info", "A case of the joins suite and its verdict.")
    alerts = Family("jetlag_join_gate_passed", "gauge", "1 where a gate, or an alert, holds; else 0.")
    latency = Family("jetlag_join_latency_seconds", "summary", "From the fact's intended time.", "seconds")
    gauges = {metric: Family(name, "gauge", text, unit) for metric, (name, unit, text) in _GAUGES.items()}
    for one in outcomes:
        labels = {"case": one.name, "run_id": one.run_id}
        verdicts.add(1, {**labels, "verdict": one.verdict.value}, "_info")
        for result in one.report.results:
            alerts.add(int(result.passed), {**labels, "gate": result.gate.metric, "why": result.gate.why})
        if one.verdict is Verdict.INVALID:
            continue
        latency.add_summary(
            {name: value for name, value in one.latency_us.items() if value is not None}, labels
        )
        for metric, family in gauges.items():
            value = one.metrics.get(metric)
            family.add(None if value is None else value * _FACTORS.get(metric, 1), labels)
    return families_text([verdicts, alerts, latency, *gauges.values()])
