"""The tables of a run: gates, hops, ledger, outages, metrics, manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.report import numbers
from bench.report.markup import Content, Html, joined, tag
from bench.report.plain import Json
from bench.report.run import GateRow, Hop, Run

_STATUS = {"passed": ("✓", "passed"), "violated": ("✕", "violated"), "missing": ("?", "missing")}
_COMPARISONS = {"<=": "≤", ">=": "≥", "==": "="}
_BAR_WIDTH = 220.0


def table(headings: Sequence[str], rows: Sequence[Sequence[Content]], class_: str = "") -> Html:
    head = tag("tr", [tag("th", text, scope="col") for text in headings])
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    whole = tag("table", tag("thead", head), tag("tbody", body), class_=class_ or None)
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=headings[0])


def gates(run: Run) -> Html:
    if not run.gates:
        return joined(tag("h3", "Gates"), tag("p", "No gate was judged.", class_="muted"))
    # What is wrong comes first; otherwise the case's own order.
    order = {"violated": 0, "missing": 1}
    rows = [_gate(gate) for gate in sorted(run.gates, key=lambda gate: order.get(gate.status, 2))]
    held = sum(gate.status == "passed" for gate in run.gates)
    return joined(
        tag("h3", f"Gates: {held} of {len(run.gates)} hold"),
        table(["Gate", "Status", "Observed", "Wanted", "Why", "Asks of"], rows, "gates"),
    )


def _gate(gate: GateRow) -> list[Content]:
    icon, word = _STATUS.get(gate.status, ("?", gate.status))
    observed, bound = numbers.beside(gate.metric, gate.observed, gate.bound)
    known = gate.status if gate.status in _STATUS else "missing"
    return [
        tag("code", gate.metric),
        tag("span", tag("span", icon, aria_hidden="true"), f" {word}", class_=f"status {known}"),
        observed,
        f"{_COMPARISONS.get(gate.comparison, gate.comparison)} {bound}",
        gate.why,
        "harness" if gate.kind == "validity" else "pipeline",
    ]


def hops(run: Run) -> Html | None:
    if not run.hops:
        return None
    highest = max((hop.figures_us.get("p99", 0) for hop in run.hops), default=0)
    names = ("p50", "p95", "p99", "max")
    rows = [
        [
            hop.title,
            _bar(hop, highest),
            *(numbers.microseconds(hop.figures_us.get(name)) for name in names),
            numbers.count(hop.figures_us.get("count")),
        ]
        for hop in run.hops
    ]
    return joined(
        tag("h3", "Hops"),
        tag("p", "Bars: p50 full, up to p99 light; one scale for all.", class_="muted small"),
        table(["Hop", "p50 to p99", *names, "messages"], rows, "hops"),
    )


def _bar(hop: Hop, highest: float) -> Html:
    """Drawn as SVG attributes: the page's security policy allows no style attribute."""

    def width(name: str) -> str:
        share = hop.figures_us.get(name, 0) / highest if highest else 0.0
        return f"{_BAR_WIDTH * min(max(share, 0.0), 1.0):.1f}"

    return tag(
        "svg",
        tag("rect", class_="tail", x="0", y="2", height="8", width=width("p99")),
        tag("rect", class_="middle", x="0", y="2", height="8", width=width("p50")),
        viewBox=f"0 0 {_BAR_WIDTH:g} 12",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def ledger(run: Run) -> Html | None:
    if run.ledger is None:
        return None
    examples = run.ledger.examples
    rows: list[list[Content]] = [
        [
            name,
            numbers.count(value),
            [tag("code", example, class_="example") for example in examples.get(name, [])],
        ]
        for name, value in run.ledger.counts.items()
    ]
    # Examples under a name that has no count are shown all the same: they were noted for a reason.
    for name in examples.keys() - run.ledger.counts.keys():
        rows.append([name, numbers.NOTHING, [tag("code", one, class_="example") for one in examples[name]]])
    headings = ["What became of it", "Messages", "Examples"]
    if not any(examples.values()):
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    return joined(tag("h3", "Ledger"), table(headings, rows, "ledger"))


def outages(run: Run) -> Html | None:
    if not run.outages:
        return None
    rows = [
        [
            outage.who,
            numbers.NOTHING if outage.at_s is None else f"{outage.at_s:,.1f} s",
            numbers.milliseconds(outage.lasted_ms),
            outage.what,
        ]
        for outage in run.outages
    ]
    return joined(tag("h3", "Outages lived through"), table(["Who", "At", "Lasted", "What"], rows))


def all_metrics(run: Run) -> Html | None:
    if not run.metrics:
        return None
    return table(
        ["Metric", "Value"], [[tag("code", name), repr(value)] for name, value in run.metrics.items()]
    )


def manifest(run: Run) -> Html | None:
    if not run.manifest:
        return None
    rows = [[tag("code", name), value] for name, value in _flat("", {**run.manifest, **_details(run)})]
    return table(["What", "Value"], rows, "manifest")


def _details(run: Run) -> Json:
    return {"details": run.details} if run.details else {}


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, list):
        yield prefix, ", ".join(map(str, value)) or numbers.NOTHING
    else:
        yield prefix, numbers.NOTHING if value in (None, "", {}) else str(value)
