"""A suite's tables and its picture in one file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report.markup import Html, joined, tag
from bench.report.page import asset, content_policy

#: What was not measured.
DASH = "-"
#: The first row is the head.
Table = list[tuple[str, ...]]
Section = tuple[str, str, Table]


def suite_page(title: str, sections: Sequence[Section], drawing: Html | None, drawn: str) -> str:
    """Each section is a heading, a sentence and a table; one whose table has no rows is left out."""
    style = asset("report.css")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=content_policy([style], [])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"jetlag: {title[:1].lower()}{title[1:]}"),
        tag("style", Html(style)),
    )
    told = [_section(title, note, table) for title, note, table in sections if len(table) > 1]
    figure = tag("section", tag("h2", drawn), tag("div", drawing, class_="scroll")) if drawing else None
    body = tag("body", tag("main", tag("h1", title), told, figure))
    return joined(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")


def markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = rows
    return [_line(head), _line(["---"] * len(head)), *(_line(row) for row in body)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def section_lines(sections: Sequence[Section]) -> list[str]:
    """The same as Markdown."""
    lines: list[str] = []
    for title, note, table in sections:
        if len(table) > 1:
            lines += [f"### {title}", "", note, "", *markdown_table(table), ""]
    return lines


def write_suite(
    folder: Path,
    name: str,
    content: dict[str, Any],
    sections: Sequence[Section],
    drawing: Html | None,
    page: str,
) -> Path:
    """name.json, name.md, name.svg if there is a drawing, and name.html, whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / f"{name}.md").write_text("\n".join(section_lines(sections)) + "\n")
    if drawing:
        (folder / f"{name}.svg").write_text(drawing + "\n")
    whole = folder / f"{name}.html"
    whole.write_text(page)
    return whole


def _section(title: str, note: str, table: Table) -> Html:
    head, *rows = table
    return tag(
        "section",
        tag("h2", title),
        tag("p", note),
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head])),
                tag("tbody", [tag("tr", [tag("td", cell) for cell in row]) for row in rows]),
            ),
            class_="scroll",
        ),
    )
