"""One run on the page: headline, key figures, charts, and the tables behind them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report import numbers
from bench.report.chart import Chart
from bench.report.columns import emission_delay, trend
from bench.report.fault_tables import faults_section
from bench.report.markup import Html, joined, tag
from bench.report.row import Row
from bench.report.run import Run
from bench.report.run_tables import all_metrics, gates, hops, ledger, manifest, outages, table
from bench.report.summary_section import badge


def run_section(index: int, run: Run, row: Row, charts: Sequence[Chart], first_chart: int) -> Html:
    """`first_chart` is the number of this run's first chart among all of the page's."""
    return tag(
        "section",
        tag(
            "div",
            badge(row.mark),
            tag("h2", row.headline, id=f"run-{index}-title"),
            tag("p", _subtitle(run), class_="muted small"),
            class_="run-head",
        ),
        _notices(run),
        _key_figures(row),
        tag(
            "div",
            [figure(chart, first_chart + offset, f"run-{index}") for offset, chart in enumerate(charts)],
            class_="charts",
        ),
        faults_section(run),
        gates(run),
        hops(run),
        ledger(run),
        outages(run),
        _fold("CPU of the harness's threads", _thread_cpu(run)),
        _fold("All metrics", all_metrics(run)),
        _fold("Manifest", manifest(run)),
        id=f"run-{index}",
        class_="card run",
        aria_labelledby=f"run-{index}-title",
    )


def _subtitle(run: Run) -> str:
    parts = [run.run_id]
    if run.target_rate_per_s is not None:
        parts.append(f"{numbers.rate(run.target_rate_per_s)} asked for")
    if run.measure_s is not None:
        parts.append(f"{run.warmup_s:g} s warm-up + {run.measure_s:g} s measured")
    if run.window_s is not None:
        parts.append(f"windows of {run.window_s:g} s")
    return " · ".join(parts)


def _notices(run: Run) -> Html:
    """What a search found, why a run is no measurement, and what its folder lacks."""
    notices = []
    if run.search:
        notices.append(tag("div", tag("strong", "Search: "), run.search, class_="notice"))
    if run.invalid_reasons:
        reasons = tag("ul", [tag("li", reason) for reason in run.invalid_reasons])
        notices.append(
            tag("div", tag("strong", "Not a measurement, because:"), reasons, class_="notice invalid")
        )
    if run.damage:
        missing = tag("ul", [tag("li", text) for text in run.damage])
        notices.append(tag("div", tag("strong", "This run's folder is not whole:"), missing, class_="notice"))
    return joined(*notices)


def _key_figures(row: Row) -> Html | None:
    figures = row.figures
    if figures is None:
        return None
    pairs: list[tuple[str, str]] = [
        ("In", numbers.rate(figures.input_rate_per_s)),
        ("Out", numbers.rate(figures.output_rate_per_s)),
        ("p50", numbers.milliseconds(figures.latency_ms_p50)),
        ("p99", numbers.milliseconds(figures.latency_ms_p99)),
        ("Max", numbers.milliseconds(figures.latency_ms_max)),
        ("Lag max", numbers.count(figures.lag_max)),
        ("Lag trend", trend(figures).replace("\n", " ")),
        ("Lost · dup.", f"{numbers.count(figures.lost)} · {numbers.count(figures.duplicates)}"),
    ]
    if figures.emission_delay_ms:
        delays = emission_delay(figures.emission_delay_ms).replace("\n", ", ")
        pairs.append(("Emission delay", delays))
    # A list of figures is longer than a column of a phone.
    cells = [
        tag(
            "div", tag("dt", name), tag("dd", shown), class_="wide" if "," in shown and " " in shown else None
        )
        for name, shown in pairs
    ]
    return tag("dl", cells, class_="key")


def figure(chart: Chart, number: int, group: str) -> Html:
    """Where report.js draws a chart; those of one group share their cursor."""
    return tag(
        "figure",
        tag("figcaption", tag("h3", chart.title), tag("p", chart.note, class_="muted small")),
        tag(
            "div",
            class_="plot",
            data_chart=str(number),
            data_group=group,
            role="img",
            tabindex="0",
            aria_label=chart.told(),
        ),
        tag("div", class_="legend", role="group", aria_label=f"Lines of {chart.title}"),
    )


def _fold(title: str, content: Html | None) -> Html | None:
    return None if content is None else tag("details", tag("summary", title), content)


def _thread_cpu(run: Run) -> Html | None:
    if not run.driver_cpu_s_per_million:
        return None
    rows = [[name, f"{value:,.2f}"] for name, value in run.driver_cpu_s_per_million.items()]
    return table(["Thread", "CPU s per million messages"], rows)
