"""The files of a report: the same numbers in every format, and nothing in them but text and numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.report import NotRun, write_report

ROOT = Path(__file__).parents[2]
HOSTILE = "</script><img src=x onerror=alert(1)>|`\"'&\n# EOF\n=cmd()\u2028\\"
FILES = ["metrics.openmetrics", "report.html", "samples.csv", "summary.csv", "summary.json", "summary.md"]


def result(**changes: Any) -> dict[str, Any]:
    return {
        "run_id": "A-1", "case": "A", "variant": None, "verdict": "PASS", "lag_trend": "flat",
        "gates": {"results": [{"metric": "lost", "comparison": "==", "bound": 0, "why": "seen",
                               "kind": "gate", "observed": 0, "status": "passed"}]},
        "metrics": {"producer_rate_per_s": 50000.0, "output_rate_per_s": 49990.25, "lag_max": 815,
                    "output_rate_peak_per_s": 51000.5, "lag_slope_per_s": -0.25},
        "latency_us": {"count": 100, "mean": 2500.0, "p50": 2000, "p95": 3500, "p99": 4100, "max": 9000},
        "hops_us": {"intended_to_stored": {"count": 100, "mean": 1500.0, "p50": 1000, "p99": 3000}},
        "ledger": {"expected": 100, "seen": 100, "lost": 0, "duplicates": 0, "examples": {}},
        "resources": {"nats": {"rss_bytes_max": 5e7, "cpu_cores_mean": 0.5}},
        **changes,
    }  # fmt: skip


def folder(base: Path, name: str = "A-1", **changes: Any) -> Path:
    run = base / name
    run.mkdir(parents=True)
    (run / "result.json").write_text(json.dumps(result(run_id=name) | changes))
    (run / "manifest.json").write_text(json.dumps({"load": {"rate_per_s": 50000}, "note": HOSTILE}))
    (run / "metrics.jsonl").write_text('{"t_s": 1, "prod_rate": 50000, "lag": 3}\n')
    (run / "resources.jsonl").write_text("")
    return run


def hostile_folder(base: Path) -> Path:
    """Hostile strings wherever a run can put one."""
    changes: dict[str, Any] = {
        "run_id": HOSTILE, "case": HOSTILE, "variant": HOSTILE, "lag_trend": HOSTILE,
        "gates": {"results": [{"metric": HOSTILE, "comparison": HOSTILE, "bound": 1, "why": HOSTILE,
                               "kind": HOSTILE, "observed": 2, "status": HOSTILE}]},
        "hops_us": {HOSTILE: {"p50": 1, "p99": 2, "count": 3}},
        "ledger": {"lost": 1, "examples": {"lost": [HOSTILE], HOSTILE: [HOSTILE]}},
        "outages": [{"who": HOSTILE, "what": HOSTILE, "at_s": 1, "lasted_ms": 1}],
        "resources": {HOSTILE: {"rss_bytes_max": 1, "cpu_cores_mean": 1}},
        "emission_delay_ms": {HOSTILE: 1}, "details": {HOSTILE: HOSTILE},
    }  # fmt: skip
    run = folder(base, "hostile", **changes)
    lines = [{"t_s": t, "kind": HOSTILE, HOSTILE: t, "x_ms": {HOSTILE: t}} for t in range(3)]
    lines += [{"t_s": t, "lag": t, HOSTILE: HOSTILE} for t in range(3)]
    (run / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return run


def test_all_files_are_written(tmp_path: Path) -> None:
    """Were this to fail, CI would upload a report with a part missing."""
    page = write_report([folder(tmp_path)], [NotRun("C", "rw", "no image")], tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES


def test_same_numbers_everywhere(tmp_path: Path) -> None:
    """Were this to fail, two people could quote two different p99 of the same run."""
    out = write_report([folder(tmp_path)], [], tmp_path / "out").parent
    figures = json.loads((out / "summary.json").read_text())["runs"][0]["figures"]
    line = next(csv.DictReader(io.StringIO((out / "summary.csv").read_text())))
    assert figures["latency_ms_p99"] == float(line["latency_ms_p99"]) == 4.1
    assert float(line["rss_bytes_max_nats"]) == 5e7
    for name in ("summary.md", "report.html"):
        text = (out / name).read_text()
        assert "A keeps up: 50,000 events/s in, 49,990 out, p99 4.1 ms, nothing lost" in text
        assert "51,000/s" in text
    assert (
        'jetlag_latency_seconds{run_id="A-1",case="A",variant="",quantile="0.99"} 0.0041'
        in (out / "metrics.openmetrics").read_text()
    )


def test_invalid_run_has_no_number_in_any_summary(tmp_path: Path) -> None:
    """Were this to fail, a run that was no measurement would be charted and compared as one."""
    run = folder(tmp_path, verdict="INVALID", gates={"invalid_reasons": ["the producer slipped"]})
    out = write_report([run], [], tmp_path / "out").parent
    assert json.loads((out / "summary.json").read_text())["runs"][0]["figures"] is None
    line = next(csv.DictReader(io.StringIO((out / "summary.csv").read_text())))
    assert line == {
        "case": "A",
        "variant": "",
        "run_id": "A-1",
        "verdict": "INVALID",
        "reason": "the producer slipped",
    }
    assert "4.1 ms" not in (out / "summary.md").read_text()
    families = {
        line.split()[2] for line in (out / "metrics.openmetrics").read_text().splitlines() if "TYPE" in line
    }
    assert families == {"jetlag_run", "jetlag_verdict"}


def test_what_was_not_run_stands_beside_its_case_with_the_reason(tmp_path: Path) -> None:
    """Were this to fail, an engine that was skipped would look as if nobody had thought of it."""
    runs = [
        folder(tmp_path, "C-1", case="C", variant="spark"),
        folder(tmp_path, "D-1", case="D", variant="spark"),
    ]
    out = write_report(runs, [NotRun("C", "arroyo", "no image")], tmp_path / "out").parent
    rows = list(csv.DictReader(io.StringIO((out / "summary.csv").read_text())))
    assert [(row["case"], row["variant"], row["verdict"]) for row in rows] == [
        ("C", "spark", "PASS"), ("C", "arroyo", "NOT RUN"), ("D", "spark", "PASS")
    ]  # fmt: skip
    page = (out / "report.html").read_text()
    assert "not run: no image" in page
    assert (
        re.findall(r'href="#(run-\d+)"', page)
        == re.findall(r'<section id="(run-\d+)"', page)
        == ["run-0", "run-1"]
    )
    assert json.loads((out / "summary.json").read_text())["not_run"][0]["reason"] == "no image"


# ---- the page ----------------------------------------------------------------------


class Page(HTMLParser):
    """The page as a browser's parser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_hostile_text_is_text(tmp_path: Path) -> None:
    """Were this to fail, whoever can name a run could run a script in the browser of whoever reads it."""
    out = write_report(
        [hostile_folder(tmp_path)], [NotRun(HOSTILE, HOSTILE, HOSTILE)], tmp_path / "out"
    ).parent
    page = Page((out / "report.html").read_text(encoding="utf-8"))
    assert "img" not in {tag for tag, _ in page.tags}
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    assert not any(
        name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes
    )
    charts = next(text for text in page.text if text.startswith('[{"kind"'))
    assert HOSTILE in {line["label"] for chart in json.loads(charts) for line in chart["lines"]}
    markdown = (out / "summary.md").read_text()
    assert "<img" not in markdown
    assert len([line for line in markdown.splitlines() if line.startswith("|")]) == 4
    cells = [cell for row in csv.reader(io.StringIO((out / "summary.csv").read_text())) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    json.loads((out / "summary.json").read_text())


def test_page_loads_nothing(tmp_path: Path) -> None:
    """Were this to fail, the report would not open offline, or would tell a server who reads it."""
    text = write_report([folder(tmp_path)], [], tmp_path / "out").read_text()
    page = Page(text)
    targets = [
        value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")
    ]
    assert [value for value in targets if value and not value.startswith(("#", "data:"))] == []
    assert "@import" not in text
    assert "url(" not in text
    policy = next(a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_report_of_nothing_says_so(tmp_path: Path) -> None:
    """Were this to fail, a pytest session in which all was skipped would end in a traceback."""
    page = write_report([], [], tmp_path / "out")
    assert "Nothing was run" in page.read_text()


# ---- the command -----------------------------------------------------------------------


def test_command_writes_a_report_of_a_folder_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Were this to fail, yesterday's runs could not be looked at again, or one would be shown twice."""
    folder(tmp_path)
    (tmp_path / "latest").symlink_to("A-1")
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/out/report.html\n"
    assert len(json.loads((tmp_path / "out/summary.json").read_text())["runs"]) == 1


@pytest.mark.parametrize(
    ("name", "said"), [("missing", "no such folder"), ("empty", "holds no run"), ("A-1", "cannot write to")]
)
def test_command_tells_in_one_line_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    """Were this to fail, a typing error would end in a traceback, or a script would go on."""
    folder(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert main(["report", str(tmp_path / name), "--out", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_command_refuses_what_it_does_not_know() -> None:
    """Were this to fail, a misspelt command would be taken for a success."""
    for words in ([], ["repot"], ["report"]):
        done = subprocess.run(
            [sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert "usage:" in done.stderr
