"""report.html: one file that needs nothing else, and can reach nothing else.

Its security policy names the two scripts and the style by their hashes: anything else, a run id that found
a way around the escaping too, is not run, and no request can leave the page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any

import orjson

from bench.report.markup import Html, joined, tag
from bench.report.row import Row
from bench.report.run import Run
from bench.report.run_charts import run_charts
from bench.report.run_section import run_section
from bench.report.summary_section import summary_section, verdict_sentence
from bench.report.trend_section import Trend, trend_section


def report_page(
    runs: Sequence[Run],
    run_rows: Sequence[Row],
    rows: Sequence[Row],
    generated: datetime,
    trends: Sequence[Trend] = (),
) -> str:
    """`rows` are all of the summary's: those of the runs, in the same order, and what was not run."""
    sections: list[Html] = []
    chart_data: list[dict[str, Any]] = []
    for index, (run, row) in enumerate(zip(runs, run_rows, strict=True)):
        charts = run_charts(run)
        sections.append(run_section(index, run, row, charts, len(chart_data)))
        chart_data += [chart.as_dict() for chart in charts]
    trend = trend_section(trends, len(chart_data))
    chart_data += [chart.as_dict() for one in trends for chart in one.charts]
    style = asset("uPlot.min.css") + "\n" + asset("report.css")
    library, script = asset("uPlot.iife.min.js"), asset("report.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=content_policy([style], [library, script])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"jetlag: {verdict_sentence(rows)}"),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the summary", href="#summary", class_="skip"),
        tag("main", summary_section(rows, generated, trend is not None), *sections, trend),
        tag("noscript", tag("p", "The charts need JavaScript; the tables and samples.csv do not.")),
        tag("footer", _footer()),
        tag("script", Html(_json(chart_data)), type="application/json", id="charts"),
        tag("script", Html(library)),
        tag("script", Html(script)),
    )
    return joined(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")


def _footer() -> Html:
    return joined(
        "The samples of every second are in samples.csv beside this file, histograms and usage in each run's "
        "folder. Charts: uPlot, © Leon Sorokin, ",
        tag("details", tag("summary", "MIT licence"), tag("pre", asset("uPlot.LICENSE.txt"))),
    )


def asset(name: str) -> str:
    return (files("bench.report") / "assets" / name).read_text(encoding="utf-8")


def content_policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _json(value: object) -> str:
    """JSON that a script element can hold: no "</script>", no "<!--", whatever a label says."""
    plain = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain
