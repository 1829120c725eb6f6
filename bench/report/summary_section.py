"""The top of the page: how it went in one sentence, and the table of all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count

from bench.report import numbers
from bench.report.columns import Column, columns_of
from bench.report.markup import Html, joined, tag
from bench.report.row import Mark, Row

_ICONS: dict[Mark, str] = {"PASS": "✓", "FAIL": "✕", "INVALID": "!", "NOT RUN": "–"}
_WORDS: dict[Mark, str] = {"PASS": "passed", "FAIL": "failed", "INVALID": "invalid", "NOT RUN": "not run"}


def badge(mark: Mark) -> Html:
    """Icon, word and colour: no one of them alone carries the verdict."""
    kind = mark.lower().replace(" ", "-")
    return tag("span", tag("span", _ICONS[mark], aria_hidden="true"), f" {mark}", class_=f"badge {kind}")


def verdict_sentence(rows: Sequence[Row]) -> str:
    counts = Counter(row.mark for row in rows)
    if not rows:
        return "Nothing was run"
    if counts["PASS"] == len(rows):
        return "The run passed" if len(rows) == 1 else f"All {len(rows)} runs passed"
    told = [f"{counts[mark]} {word}" for mark, word in _WORDS.items() if counts[mark]]
    return ", ".join(told)


def summary_section(rows: Sequence[Row], generated: datetime, has_trend: bool = False) -> Html:
    columns = columns_of(rows)
    return joined(
        tag(
            "header",
            tag("p", "jetlag", class_="brand"),
            tag("h1", verdict_sentence(rows)),
            tag("p", "Report of ", generated.strftime("%-d %B %Y, %H:%M UTC"), class_="muted"),
            tag("button", "Theme: auto", id="theme", type="button", hidden=True),
            class_="top",
        ),
        tag(
            "section",
            tag("h2", "Summary", id="summary"),
            tag(
                "div",
                _table(rows, columns),
                class_="scroll",
                tabindex="0",
                role="region",
                aria_labelledby="summary",
            ),
            tag(
                "p",
                "Rates are of what came out. Latency counts from the intended time of sending. "
                "An INVALID run was not a measurement, so it has no figures here; its charts are below.",
                tag("a", " Trend over earlier runs ↓", href="#trend") if has_trend else None,
                class_="muted small",
            ),
            class_="card",
        ),
    )


def _table(rows: Sequence[Row], columns: Sequence[Column]) -> Html:
    headings = ["Run", "Verdict", *(column.heading for column in columns)]
    head = tag("tr", [tag("th", text, scope="col", role="columnheader") for text in headings], role="row")
    # Roles again in words: as stacked cards on a phone the elements would lose their table meaning.
    return tag(
        "table",
        tag("thead", head, role="rowgroup"),
        tag("tbody", _rows(rows, columns), role="rowgroup"),
        class_="summary",
        role="table",
    )


def _rows(rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[Html]:
    """Runs have a section further down, numbered in the same order."""
    sections = count()
    for row in rows:
        yield _row(next(sections) if row.run_id is not None else 0, row, columns)


def _row(index: int, row: Row, columns: Sequence[Column]) -> Html:
    name = tag("a", row.name, href=f"#run-{index}") if row.run_id is not None else row.name
    cells = [
        tag("th", name, _asked(row), scope="row", role="rowheader"),
        tag("td", badge(row.mark), role="cell", data_label="Verdict"),
    ]
    if row.figures is None:
        said = f"not run: {row.reason}" if row.mark == "NOT RUN" else f"no figures: {row.headline}"
        cells.append(tag("td", said, class_="reason", role="cell", colspan=str(len(columns))))
    else:
        figures = row.figures
        cells += [
            tag("td", _lines(column.show(figures)), role="cell", data_label=column.heading)
            for column in columns
        ]
    return tag("tr", cells, role="row")


def _asked(row: Row) -> Html | None:
    if row.asked_per_s is None:
        return None
    return tag("span", f"at {numbers.rate(row.asked_per_s)}", class_="asked")


def _lines(text: str) -> Html:
    """Each line of a cell unbroken."""
    return tag("div", [tag("span", line, class_="line") for line in text.split("\n")])
