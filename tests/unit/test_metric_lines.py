"""The printed metric lines: exact text, a strict parser, and round trips both ways."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.contract.metric_lines import DbLine, ObsLine, ProdLine, parse_metric_line

relaxed = settings(deadline=None)  # a busy machine is no finding

PROD = "PROD rate=50000/s max_seq=1200000 run_id=r-1"
OBS = "OBS rate=2000/s max_seq=1189000 lag=11000 p95=35ms p99=80ms run_id=r-1"
DB = "DB rows=2000/s max_seq=1189000 lag=11000 p95=120ms p99=250ms run_id=r-1"

counts = st.integers(0, 10**18 - 1)
run_ids = st.from_regex(r"[A-Za-z0-9_-]{1,48}", fullmatch=True)
percentiles = st.one_of(st.none(), counts)
lags = st.integers(-(10**18) + 1, 10**18 - 1)
lines = st.one_of(
    st.builds(ProdLine, counts, counts, run_ids),
    st.builds(ObsLine, counts, counts, lags, percentiles, percentiles, run_ids),
    st.builds(DbLine, counts, counts, lags, percentiles, percentiles, run_ids),
)


def test_the_lines_of_the_contract() -> None:
    """If this fails, scripts that grep the metric lines of the contract find nothing."""
    assert ProdLine(50_000, 1_200_000, "r-1").format() == PROD
    assert ObsLine(2000, 1_189_000, 11_000, 35, 80, "r-1").format() == OBS
    assert DbLine(2000, 1_189_000, 11_000, 120, 250, "r-1").format() == DB


@relaxed
@given(lines)
def test_value_to_text_and_back(line: ProdLine | ObsLine | DbLine) -> None:
    """If this fails, what a component prints is not what a reader gets."""
    assert parse_metric_line(line.format()) == line
    assert type(parse_metric_line(line.format())) is type(line)


NUMBER = r"(0|[1-9][0-9]{0,6})"
LAG_TAIL = rf"={NUMBER}/s max_seq={NUMBER} lag=-?[1-9][0-9]{{0,6}} p95=({NUMBER}ms|-) p99=({NUMBER}ms|-)"


@relaxed
@given(
    st.from_regex(
        rf"(PROD rate={NUMBER}/s max_seq={NUMBER}|(OBS rate|DB rows){LAG_TAIL}) run_id=[\w-]{{1,48}}",
        fullmatch=True,
    ).filter(str.isascii)
)
def test_text_to_value_and_back(text: str) -> None:
    """If this fails, a line that parses is not the line that would be printed: the parser is too lax."""
    assert parse_metric_line(text).format() == text


@relaxed
@given(st.one_of(st.text(), st.text("PRODBSrate=0123456789/s max_q lgp95runid-\n")))
def test_arbitrary_text_is_refused(text: str) -> None:
    """If this fails, a stray line of a component ends its reader with something else than ValueError."""
    with pytest.raises(ValueError, match="not a metric line"):
        parse_metric_line(text)


@relaxed
@given(st.sampled_from([PROD, OBS, DB]), st.data())
def test_a_damaged_line_is_refused_or_still_exact(line: str, data: st.DataObject) -> None:
    """If this fails, a line cut or changed by one character is read as other numbers than it shows."""
    at = data.draw(st.integers(0, len(line)))
    damaged = line[:at] + data.draw(st.text(max_size=1)) + line[at + 1 :]
    with suppress(ValueError):
        assert parse_metric_line(damaged).format() == damaged


@pytest.mark.parametrize(
    "text",
    [
        PROD + "\n",
        PROD + " ",
        " " + PROD,
        PROD.replace("50000", "050000"),
        PROD.replace("50000", "5e4"),
        PROD.replace("50000", "-5"),
        PROD.replace("50000", "५"),
        PROD.replace("r-1", ""),
        PROD.replace("r-1", "r.1"),
        PROD.replace("r-1", "x" * 49),
        OBS.replace("lag=11000", "lag=-0"),
        OBS.replace("35ms", "35"),
        OBS.replace("35ms", "-ms"),
        OBS.replace("rate=", "rows="),
        DB.replace("rows=", "rate="),
        "",
    ],
)
def test_near_misses_are_refused(text: str) -> None:
    """If this fails, the parser accepts a line that no component prints."""
    with pytest.raises(ValueError, match="not a metric line"):
        parse_metric_line(text)


def test_fractions_are_rounded() -> None:
    """If this fails, a rate such as 1999.7 prints as no integer, which no parser takes."""
    assert ObsLine(1999.7, 5, -3, 34.6, 0.2, "r").format() == (
        "OBS rate=2000/s max_seq=5 lag=-3 p95=35ms p99=0ms run_id=r"
    )


def test_a_second_without_a_sample_prints_a_dash() -> None:
    """If this fails, a second in which nothing arrived shows as the fastest of the run."""
    text = DbLine(0, 5, 9, None, None, "r").format()
    assert text == "DB rows=0/s max_seq=5 lag=9 p95=- p99=- run_id=r"
    parsed = parse_metric_line(text)
    assert isinstance(parsed, DbLine)
    assert (parsed.p95_ms, parsed.p99_ms) == (None, None)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_impossible_rates_are_not_printed(rate: float) -> None:
    """If this fails, a broken rate is printed as a line that cannot be parsed."""
    with pytest.raises(ValueError, match="rate"):
        ProdLine(rate, 1, "r").format()


@pytest.mark.parametrize("run_id", ["", "a b", "x" * 49, "r\n", "é"])
def test_a_bad_run_id_is_refused_when_the_line_is_made(run_id: str) -> None:
    """If this fails, a run id with a space in it breaks every line of the run."""
    with pytest.raises(ValueError, match="run id"):
        ProdLine(1, 1, run_id)
