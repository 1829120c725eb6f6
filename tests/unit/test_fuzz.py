"""Bytes and values of every kind against everything that parses: a good value, or its own kind of refusal.

Seconds in CI; `make fuzz` for longer (JETLAG_FUZZ_EXAMPLES says how many examples each test tries).
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.contract.event import decode_event
from bench.contract.heartbeat import decode_heartbeat
from bench.contract.metric_lines import parse_metric_line
from bench.contract.names import check_run_id
from bench.contract.result import decode_result
from bench.fault.spec import FaultError, parse_fault
from bench.history import read_history
from bench.infra.bento_http import read_counts
from bench.infra.errors import InfraError
from bench.infra.external_url import nats_endpoint, tidb_endpoint
from bench.latency import LatencyRecorder
from bench.report.folder import read_run
from bench.report.histogram_log import read_histogram_log
from bench.report.write import write_report
from bench.result_rows import ResultRows
from bench.settings import RawOptions, UsageError, check_options
from bench.wire.batch import Batch
from bench.wire.errors import WireError
from bench.wire.frames import index_frames
from bench.wire.pubacks import AnswerReader
from bench.wire.pull import delivery_of, stored_ns

pytestmark = pytest.mark.fuzz

fuzz = hypothesis_settings(
    deadline=None,  # a busy machine is no finding
    max_examples=int(os.environ.get("JETLAG_FUZZ_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

#: Pieces that a mutation is likely to get past the first check with.
_WIRE_WORDS = [
    b"MSG a 1 ", b"HMSG a 1 ", b"$JS.ACK.S.c.1.7.7.1700000000000000000.0", b"_INBOX.ab.0001", b"4", b"12",
    b"\r\n", b"\n", b" ", b"PING", b"PONG", b"-ERR 'x'", b"+OK", b"INFO {}", b"NATS/1.0 503\r\n\r\n",
    b'{"stream":"S","seq":1}', b'{"error":{"code":503}}', b"\x00", b"99999999999999999999", b"-1",
]  # fmt: skip
_DELIVERY = b"$JS.ACK.S.c.1.7.7.1700000000000000000.0"


def frame(subject: bytes, reply: bytes, headers: bytes, body: bytes) -> bytes:
    """A whole message: its sizes are right, whatever is in it."""
    sizes = b"%d %d" % (len(headers), len(headers + body)) if headers else b"%d" % len(body)
    words = b" ".join([b"HMSG" if headers else b"MSG", subject, b"1", reply, sizes])
    return words + b"\r\n" + headers + body + b"\r\n"


whole_frames = st.builds(
    frame,
    st.sampled_from([b"a", b"_INBOX.ab.0001", b"_INBOX.ab.00x1", b"_INBOX.ab."]),
    st.sampled_from([_DELIVERY, _DELIVERY.replace(b"7", b"x"), b"_INBOX.ab.0001", b"$JS.ACK"]),
    st.sampled_from([b"", b"NATS/1.0 503\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n", b"junk"]),
    st.sampled_from([b'{"stream":"S","seq":1}', b'{"error":{"code":503}}', b'{"error":7}', b"[]", b"{"])
    | st.binary(max_size=40),
)
wire_bytes = st.lists(whole_frames | st.sampled_from(_WIRE_WORDS) | st.binary(max_size=24), max_size=30).map(
    b"".join
)

_SCHEMES = "(nats|tls|mysql)"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def batch_of(data: bytes) -> Batch | None:
    """The frames in it; nothing if it is not the protocol."""
    buffer = bytearray(data)
    try:
        index = index_frames(buffer, 0, len(buffer))
    except WireError:
        return None
    assert 0 <= index.consumed <= len(buffer)
    assert (index.starts <= index.line_ends).all()
    assert (index.line_ends + 2 <= index.ends - 2).all()
    assert len(index.ends) == 0 or index.ends.max() <= index.consumed
    return Batch(buffer, index, np.zeros(len(index), np.int64))


@fuzz
@given(wire_bytes)
def test_wire_bytes_are_frames_or_refused(data: bytes) -> None:
    """If this fails, a server's odd bytes kill a driver with a traceback, or are read beyond their end."""
    batch = batch_of(data)
    for i in range(len(batch) if batch is not None else 0):
        assert batch.payload(i) in data


@fuzz
@given(wire_bytes)
def test_deliveries_and_answers_are_read_or_refused(data: bytes) -> None:
    """If this fails, what is no delivery or acknowledgement counts as one, or ends its driver."""
    batch = batch_of(data)
    if batch is None:
        return
    readers = (
        lambda: AnswerReader("_INBOX.ab", 4, "S").read(batch),
        lambda: ResultRows("mock", "run").read(batch),
        lambda: stored_ns(batch),
        lambda: [delivery_of(batch.reply(i)) for i in range(len(batch))],
    )
    for read in readers:
        with suppress(WireError):
            read()


#: As written, or with a good one's fields turned into anything.
_FIELDS = ("run_id", "event_id", "seq", "producer_ts_ms", "key", "value", "payload", "window_end_ms", "count",
           "sum_value", "prod_max_seq", "prod_rate", "producer_ts_ms_now")  # fmt: skip
message_bytes = st.binary(max_size=80) | st.dictionaries(
    st.sampled_from(_FIELDS), json_values, max_size=len(_FIELDS)
).map(lambda fields: json.dumps(fields).encode())


@fuzz
@given(message_bytes)
def test_messages_are_decoded_or_refused(data: bytes) -> None:
    """If this fails, one foreign message ends a driver's thread."""
    for decode in (decode_event, decode_result, decode_heartbeat):
        with suppress(ValueError):
            decode(data)


@fuzz
@given(st.text() | st.from_regex(r"(PROD rate|OBS rate|DB rows)=[0-9-]{1,20}/s max_seq=[0-9]{1,20} .*"))
def test_metric_lines_are_parsed_or_refused(text: str) -> None:
    """If this fails, a log that was cut off crashes its reader, or is read as another line."""
    with suppress(ValueError):
        assert parse_metric_line(text).format() == text


@fuzz
@given(st.dictionaries(st.sampled_from(sorted(RawOptions.__dataclass_fields__)), st.text(max_size=12)))
def test_options_are_taken_or_refused_in_one_line(typed: dict[str, str]) -> None:
    """If this fails, an option's value is a traceback."""
    lists = {name: [value] for name, value in typed.items() if name in ("spark_conf", "fault")}
    flags = {name: bool(value) for name, value in typed.items() if name in ("message_ids", "transport_full")}
    said = ""
    try:
        check_options(RawOptions(**{**typed, **lists, **flags, "reports_dir": "reports"}))
    except UsageError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or said.startswith("--")


@fuzz
@given(st.text(max_size=60))
def test_faults_and_run_ids_are_taken_or_refused(text: str) -> None:
    """If this fails, a name that is harmless nowhere gets in."""
    with suppress(FaultError):
        parse_fault(text)
    with suppress(ValueError):
        assert check_run_id(text).replace("-", "").replace("_", "").isascii()


@fuzz
@given(
    st.text(max_size=40)
    | st.from_regex(rf"{_SCHEMES}://[a-z@%]*:p4ssword@?127\.0\.0\.1(:[0-9]{{0,6}})?(/[a-z%;` ]{{0,8}})?")
)
def test_urls_of_services_are_taken_or_refused_without_telling_them(url: str) -> None:
    """If this fails, a URL that is refused is repeated with its password, or one points past our checks."""
    for read in (nats_endpoint, tidb_endpoint):
        try:
            endpoint = read(url, allow_remote_target=False)
        except InfraError as error:
            if "p4ssword" in url:
                assert "p4ssword" not in str(error)  # noqa: PT017 - a refusal is one of two good ends
            continue
        assert endpoint.host in ("127.0.0.1", "::1", "localhost") or endpoint.host.startswith("127.")


@fuzz
@given(st.text(max_size=300) | st.from_regex(r"([a-z_]{1,8}(\{[a-z]=.*\})? [0-9e.+-]{1,9}\n){0,5}"))
def test_a_metrics_page_is_read_or_refused(text: str) -> None:
    """If this fails, what an engine's metrics page says ends the run's watch."""
    with suppress(ValueError):
        read_counts(text)


_RESULT_FIELDS = ("run_id", "case", "variant", "verdict", "gates", "metrics", "latency_us", "hops_us",
                  "ledger", "outages", "resources", "details", "lag_trend", "emission_delay_ms")  # fmt: skip


@fuzz
@given(st.dictionaries(st.sampled_from(_RESULT_FIELDS), json_values), st.binary(max_size=60))
def test_any_result_makes_a_page_and_no_crash(tmp_path_factory, result: dict, tail: bytes) -> None:
    """If this fails, one odd or damaged result takes the report of a whole night with it."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "result.json").write_bytes(json.dumps(result).encode())
    (folder / "manifest.json").write_bytes(tail)
    (folder / "metrics.jsonl").write_bytes(b'{"t_s":1,"lag":2}\n' + tail)
    run = read_run(folder)
    page = write_report([folder], [], folder / "report").read_text()
    assert run.verdict.value in page
    assert "<script>alert" not in page


def histogram_payload(values: list[int]) -> bytes:
    recorder = LatencyRecorder()
    recorder.record(np.array(values, np.int64))
    return recorder.take_interval().encode()


@fuzz
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=5), st.integers(0, 400), st.binary(max_size=12))
def test_a_damaged_histogram_log_is_read_as_far_as_it_goes(tmp_path_factory, values, at, junk) -> None:
    """If this fails, a log that was cut off by a kill has no report."""
    good = histogram_payload(values)
    bent = good[:at] + junk + good[at + len(junk) :]
    lines = [b"#[BaseTime: 1700000000.000 (seconds since epoch)]"]
    lines += [b"Tag=measure,0.000,1.000,1.0," + payload for payload in (good, bent)]
    path = tmp_path_factory.mktemp("log") / "latency.hlog"
    path.write_bytes(b"\n".join(lines) + b"\n")
    log = read_histogram_log(path, 0.0)
    assert "measure" in log.tags
    assert log.damaged_lines <= 1


@pytest.mark.parametrize("size", [1 << 20])
def test_a_histogram_that_unpacks_to_a_megabyte_of_nothing_is_refused(tmp_path, size: int) -> None:
    """If this fails, a small file in an archived report takes the reader's memory."""
    bomb = base64.b64encode(b"\x1c\x84\x93\x14\x00\x00\x00\x00" + zlib.compress(b"\x00" * size))
    path = tmp_path / "latency.hlog"
    path.write_bytes(b"Tag=measure,0.000,1.000,1.0," + bomb + b"\n")
    assert read_histogram_log(path, 0.0).damaged_lines == 1


@fuzz
@given(st.binary(max_size=120) | st.lists(json_values, max_size=3).map(
    lambda records: b"\n".join(json.dumps(record).encode() for record in records)))  # fmt: skip
def test_a_damaged_history_is_read_as_far_as_it_goes(tmp_path_factory, data: bytes) -> None:
    """If this fails, one bad line ends the trend of a year."""
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    path.write_bytes(data)
    read_history(path)
