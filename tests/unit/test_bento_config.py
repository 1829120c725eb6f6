"""Bento's configurations: as agreed, with the contract's columns, and with values that cannot break out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.bento import config
from bench.bento.config import nats_url, render, tidb_dsn
from bench.bento.sink import BentoSink, SinkJob, sink_config
from bench.contract.names import durable
from bench.contract.table import COLUMNS, ON_DUPLICATE
from bench.engine.bento import BentoEngine, window_offset_ms, windows_config
from bench.engine.protocol import EngineJob
from bench.infra.bento_http import read_counts
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint, secrets_of

GOLDEN = Path(__file__).parent / "golden"
NATS = NatsEndpoint("127.0.0.1", 4222, "jetlag", 'a"b$\\c@/')
TIDB = TidbEndpoint("127.0.0.1", 4000, "jetlag", 'p"${HOME}')
SINK = SinkJob("run-1", "spark", durable("E", "results", "spark"), NATS, TIDB)
WINDOWS = EngineJob("run-1", "C", 10_000, "processing", 16, "jetstream", NATS, None, Path())
ADDRESS = "127.0.0.1:15000"


def test_the_configurations_are_the_agreed_ones() -> None:
    """An edit of the YAML that changes a user's pipeline would go unnoticed."""
    assert sink_config(SINK, ADDRESS, 30) == (GOLDEN / "bento_sink.yaml").read_text()
    assert windows_config(WINDOWS, ADDRESS) == (GOLDEN / "bento_windows.yaml").read_text()


def test_the_sink_writes_the_contract_s_columns_and_upsert() -> None:
    """Bento's file repeats what the writer's module says: the two would drift apart."""
    text = sink_config(SINK, ADDRESS, 30)
    listed = re.search(r"columns:\n((?: +- .*\n)+)", text)
    assert listed is not None
    columns = re.findall(r'- "?([^"\n]+)"?', listed[1])
    assert f"({', '.join(columns)})" == COLUMNS
    arguments = re.search(r"root = \[\n(.*?)\]", text, re.DOTALL)
    assert arguments is not None
    assert re.findall(r"this\.(\w+)", arguments[1]) == [column.strip("`") for column in columns[1:]]
    suffix = re.search(r"suffix: >-\n((?: {6}.*\n)+)", text)
    assert suffix is not None
    assert " ".join(suffix[1].split()) == ON_DUPLICATE


def test_the_manifest_tells_what_the_configurations_say() -> None:
    """Two runs with different batches would look alike to a reader who compares them."""
    told, text = BentoSink(ack_wait_s=7).settings(), sink_config(SINK, ADDRESS, 7)
    assert f"count: {told['batch_rows']}\n" in text
    assert f"period: {told['batch_ms']}ms\n" in text
    assert f"max_in_flight: {told['max_in_flight']}\n" in text
    assert f"max_ack_pending: {told['max_ack_pending']}\n" in text
    assert f'ack_wait: "{told["ack_wait_s"]}s"' in text
    engine = BentoEngine().settings()
    assert f"max_ack_pending: {engine['max_ack_pending']}\n" in windows_config(WINDOWS, ADDRESS)


def test_a_value_cannot_end_its_quotes_or_name_a_variable(tmp_path: Path) -> None:
    """A password with a quote would break the file; one with ${HOME} would be filled in by Bento."""
    text = sink_config(SINK, ADDRESS, 30)
    assert "${HOME}" not in text
    assert '\\"\\u0024{HOME}' in text


def test_a_name_without_a_value_is_an_error(tmp_path: Path) -> None:
    """An empty durable or address would be taken by Bento for a default."""
    with pytest.raises(KeyError):
        render("sink.yaml", {})
    assert config.fill(_file(tmp_path, "a: ${A_B}"), {"A_B": "1"}, str) == "a: 1"


def _file(folder: Path, text: str) -> Path:
    path = folder / "x.yaml"
    path.write_text(text)
    return path


def test_addresses_carry_their_credentials_and_logs_do_not() -> None:
    """Bento could not log in, or its log would tell the password."""
    assert nats_url(NATS) == "nats://jetlag:a%22b%24%5Cc%40%2F@127.0.0.1:4222"
    assert nats_url(replace(NATS, user="", password="")) == "nats://127.0.0.1:4222"
    assert tidb_dsn(TIDB) == 'jetlag:p"${HOME}@tcp(127.0.0.1:4000)/bench?interpolateParams=true'
    assert secrets_of(NATS, None) == [NATS.password, "a%22b%24%5Cc%40%2F"]


def test_events_are_not_redelivered_while_their_window_is_open() -> None:
    """An ack_wait shorter than the window would count every event twice."""
    for window_ms, wanted in ((1000, "30s"), (10_000, "30s"), (60_000, "180s")):
        assert f'ack_wait: "{wanted}"' in windows_config(replace(WINDOWS, window_ms=window_ms), ADDRESS)


@hypothesis_settings(deadline=None)
@given(st.integers(500, 3_600_000), st.integers(0, 2**45))
def test_bento_s_windows_end_on_the_contract_s_grid(window_ms: int, now_ms: int) -> None:
    """Windows that do not divide a day would end off the grid, and every row would be wrong."""
    offset = window_offset_ms(window_ms)
    assert abs(offset) * 2 <= window_ms
    # As Bento finds its window: rounded since the year 1, moved by the offset, one back if that is ahead.
    since_year_1 = now_ms + 62_135_596_800_000
    start = (2 * since_year_1 + window_ms) // (2 * window_ms) * window_ms + offset
    if start > since_year_1:
        start -= window_ms
    assert start <= since_year_1 < start + window_ms
    assert (start - 62_135_596_800_000) % window_ms == 0


def test_counts_are_summed_over_labels() -> None:
    """The report would show one of several inputs' counts."""
    text = '# HELP x\ninput_received{label="a"} 3\ninput_received{label="b"} 4\noutput_sent 1e2\n'
    assert read_counts(text) == {"input_received": 7.0, "output_sent": 100.0}
