"""The OpenMetrics file, read by a parser that is as strict as the format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bench.report.folder import read_run
from bench.report.openmetrics import openmetrics_text
from bench.report.row import row_of
from bench.report.run import Run

HOSTILE = 'a"b\\c\nd\r\u2028{},=# EOF'

_NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
_VALUE = r'"(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})\{{((?:{_NAME}={_VALUE})(?:,{_NAME}={_VALUE})*)?\}} (\S+)")
_SUFFIXES = {"gauge": [""], "stateset": [""], "info": ["_info"], "summary": ["", "_count", "_sum"]}


def parse_openmetrics(text: str) -> dict[str, dict[str, Any]]:
    """A strict reader of the format: families in one piece, known suffixes, no sample twice, # EOF last."""
    assert text.endswith("# EOF\n")
    families: dict[str, dict[str, Any]] = {}
    current = ""
    for line in text.removesuffix("# EOF\n").splitlines():
        if line.startswith("# "):
            _, keyword, name, rest = line.split(" ", 3)
            if keyword == "TYPE":
                assert name not in families, f"{name} is in two pieces"
                assert rest in _SUFFIXES
                families[name] = {"type": rest, "samples": {}}
                current = name
            assert name == current, "metadata of one family inside another"
            if keyword == "UNIT":
                assert name.endswith(f"_{rest}"), line
            elif keyword == "HELP":
                assert re.fullmatch(r'(?:[^"\\\n]|\\["\\n])*', rest), line
            assert keyword in ("TYPE", "UNIT", "HELP")
            continue
        found = _SAMPLE.fullmatch(line)
        assert found, line
        family = families[current]
        assert found[1].removeprefix(current) in _SUFFIXES[family["type"]], line
        names = re.findall(rf"({_NAME})={_VALUE}", found[2] or "")
        assert len(names) == len(set(names)), f"a label twice: {line}"
        assert ("quantile" in names) == (family["type"] == "summary" and found[1] == current), line
        assert (found[1], found[2]) not in family["samples"], f"a sample twice: {line}"
        family["samples"][found[1], found[2]] = float(found[3])
    return families


def run(folder: Path, run_id: str, verdict: str = "PASS", name: str = "nats") -> Run:
    """`name` stands wherever a run can choose a name."""
    folder.mkdir()
    content = {
        "run_id": run_id, "case": "A", "variant": None, "verdict": verdict,
        "gates": {"results": [{"metric": name, "status": "passed", "kind": "gate"}]},
        "metrics": {"lag_max": 815, "output_rate_per_s": 49990.25, "lag_slope_per_s": -0.25},
        "latency_us": {"count": 100, "mean": 2500.0, "p50": 2000, "p99": 4100, "max": 9000},
        "hops_us": {name: {"count": 100, "mean": 1500.0, "p50": 1000}},
        "ledger": {"lost": 0, "duplicates": 1},
        "resources": {name: {"rss_bytes_max": 5e7, "cpu_cores_mean": 0.5}},
        "emission_delay_ms": {name: 12.5},
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(content))
    return read_run(folder)


def test_openmetrics_is_valid(tmp_path: Path) -> None:
    """Were this to fail, Prometheus would refuse the file, and every chart built on it would stop."""
    runs = [
        run(tmp_path / "1", "A-1"),
        run(tmp_path / "2", "A-2", "INVALID"),
        run(tmp_path / "3", HOSTILE, name=HOSTILE),
        run(tmp_path / "twin", "A-1"),
    ]
    families = parse_openmetrics(openmetrics_text(runs, [row_of(one) for one in runs]))
    labels = 'run_id="A-1",case="A",variant=""'
    assert families["jetlag_lag_max_events"]["samples"]["jetlag_lag_max_events", labels] == 815
    assert families["jetlag_latency_seconds"]["samples"]["jetlag_latency_seconds_sum", labels] == 0.25
    delays = families["jetlag_emission_delay_seconds"]["samples"].values()
    assert list(delays) == [0.0125, 0.0125]
    assert len(families["jetlag_memory_max_bytes"]["samples"]) == 2, "the INVALID run has none"
    verdicts = families["jetlag_verdict"]["samples"].items()
    assert [value for (_, label), value in verdicts if 'run_id="A-2"' in label] == [0, 0, 1]


def test_openmetrics_of_nothing_is_valid() -> None:
    """Were this to fail, a night without a run would break the import instead of showing a gap."""
    assert parse_openmetrics(openmetrics_text([], [])) == {}
