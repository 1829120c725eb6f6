"""summary.md: the table for a pull request or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench.report.columns import columns_of
from bench.report.row import Row


def summary_markdown(rows: Sequence[Row]) -> str:
    columns = columns_of(rows)
    lines = [
        "# jetlag",
        "",
        _line(["case", "verdict", *(column.heading for column in columns)]),
        _line(["---", "---", *("---:" for _ in columns)]),
    ]
    for row in rows:
        if row.figures is not None:
            cells = [column.show(row.figures) for column in columns]
        else:
            cells = ["–" for _ in columns]
        lines.append(_line([escaped(row.name), row.mark, *(escaped(cell) for cell in cells)]))
    lines.append("")
    for row in rows:
        reason = f": {row.reason}" if row.mark == "NOT RUN" else ""
        run = f" (`{_code(row.run_id)}`)" if row.run_id else ""
        lines.append(f"- **{row.mark}** {escaped(row.headline + reason)}{run}")
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Nothing that a run wrote may become markup: neither Markdown's nor, where it passes through, HTML's."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"([\\`*_\[\]|#!~])", r"\\\1", text)
    return re.sub(r"[\r\n]+", "<br>", text.strip())


def _code(text: str) -> str:
    return re.sub(r"[`|<>\r\n]", "", text)
