"""summary.json: everything the page says, for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson

from bench.report.row import Row
from bench.report.run import Run

SUMMARY_VERSION = 1


def summary_json(
    runs: Sequence[Run], run_rows: Sequence[Row], not_run: Sequence[Row], generated: datetime
) -> bytes:
    """`figures` is null for an INVALID run: a program must not take it for a measurement by accident."""
    content = {
        "summary_version": SUMMARY_VERSION,
        "generated_at": generated.isoformat(timespec="seconds"),
        "runs": [_run(run, row) for run, row in zip(runs, run_rows, strict=True)],
        "not_run": [
            {"case": row.case, "variant": row.variant, "name": row.name, "reason": row.reason}
            for row in not_run
        ],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _run(run: Run, row: Row) -> dict[str, Any]:
    measured = row.figures is not None
    return {
        "run_id": run.run_id,
        "case": run.case,
        "variant": run.variant,
        "name": run.name,
        "verdict": run.verdict.value,
        "headline": row.headline,
        "invalid_reasons": list(run.invalid_reasons),
        "figures": asdict(row.figures) if row.figures is not None else None,
        "hops_us": {hop.name: hop.figures_us for hop in run.hops} if measured else None,
        "gates": [asdict(gate) for gate in run.gates],
        "ledger": asdict(run.ledger) if run.ledger else None,
        "outages": [asdict(outage) for outage in run.outages],
        "window_s": run.window_s,
        "damage": list(run.damage),
    }
