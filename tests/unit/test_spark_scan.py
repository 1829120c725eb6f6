"""Columns by compiled code: what it takes is what the decoder would give, and it takes ordinary events."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.contract.event import Event, encode_event
from bench.wire.native import library
from spark_jobs.jetstream import parse
from spark_jobs.jetstream.parse import parse_rows
from spark_jobs.jetstream.scan import scanner
from spark_jobs.package import write_package
from tests.unit.test_spark_parse import batch_of

ROOT = Path(__file__).resolve().parents[2]
FIELDS = pa.schema([("key", pa.string()), ("n", pa.int64()), ("small", pa.int16()), ("", pa.string())])

pytestmark = pytest.mark.skipif(
    library.library() is None, reason="bench/wire/native is not compiled here: run `make setup`"
)


def scanned(bodies: list[bytes], fields: pa.Schema = FIELDS) -> dict[str, pa.Array] | None:
    quick = scanner(fields)
    assert quick is not None
    buffer, starts, ends = bytearray(b"#"), [], []
    for body in bodies:
        starts.append(len(buffer))
        buffer += body
        ends.append(len(buffer))
        buffer += b"\r\nMSG a 1 5\r\n"
    # Nothing lies behind the last payload: to read on would be to read what is not ours.
    return quick.columns(buffer[: ends[-1]], np.array(starts, np.int64), np.array(ends, np.int64))


def test_the_contracts_events_are_taken() -> None:
    """Spark's source would fall back to the decoder for good, at twice the CPU, and nobody would see it."""
    fields = pa.schema(
        [("run_id", pa.string()), ("seq", pa.int64()), ("value", pa.int64()), ("key", pa.string())]
    )
    bodies = [
        encode_event(Event("run-1", seq, 1_763_000_000_000 + seq, f"k{seq}", 7 * seq), 512)
        for seq in range(1, 99)
    ]
    columns = scanned(bodies, fields)
    assert columns is not None
    assert columns == parse_rows(bodies, fields).columns


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b' {\t"n" : -12 , "key":"a b","small":null}\r\n',
        b'{"deep":{"n":[1,2,{"n":3}],"e":[],"o":{}},"f":-1.5e+7,"t":true,"x":null,"n":0}',
        b'{"other":"\\" \\\\ \\n","key":"plain"}',
        b'{"n":1,"n":2}',
        b'{"n":1,"n":null}',
        '{"key":"Zürich 駅"}'.encode(),
        b'{"n":999999999999999999}',
        b'{"n":-0,"small":-32768}',
        b'{"":"a field without a name"}',
    ],
)
def test_what_is_ordinary_is_taken(body: bytes) -> None:
    """One such event would send its whole chunk to the decoder."""
    assert scanned([body, b'{"n":5}', body]) == parse_rows([body, b'{"n":5}', body], FIELDS).columns


@pytest.mark.parametrize(
    "body",
    [
        *(
            b"",
            b" ",
            b"{",
            b"[]",
            b"7",
            b"{}x",
            b"{},",
            b'{"n":1}{"n":2}',
            b'{"n"}',
            b'{"n":}',
            b'{"n":1,}',
            b"{,}",
        ),
        *(
            b'{"n":01}',
            b'{"n":1.0}',
            b'{"n":1e2}',
            b'{"n":-}',
            b'{"n":+1}',
            b'{"n":"1"}',
            b'{"n":tru}',
            b'{"n":nul}',
        ),
        *(
            b'{"n":9223372036854775808}',
            b'{"small":32768}',
            b'{"key":1}',
            b'{"key":"a\\u0062"}',
            b'{"key":"a',
        ),
        *(
            b'{"key":"a\x01"}',
            b'{"x":"a\x01"}',
            b'{"x":"\\q"}',
            b'{"x":"\\u12"}',
            b'{"x":"\\',
            b'{"k\\u0065y":"a"}',
        ),
        *(
            b'{"key":"\xff"}',
            b'{"x":1.}',
            b'{"x":.5}',
            b'{"x":1e}',
            b'{"x":00}',
            b'{"x":[1,]}',
            b'{"x":[1 2]}',
        ),
        *(
            b'{"x":{"a"}}',
            b'{"x":{"a":1,}}',
            b'{"x":' + b"[" * 40 + b"]" * 40 + b"}",
            b'{"x":[1}}',
            b"\xef\xbb\xbf{}",
        ),
    ],
)
def test_what_is_not_its_own_is_left_to_the_decoder(body: bytes) -> None:
    """A bad event would pass as a good one, or as another."""
    assert scanned([b'{"n":5}', body]) is None


_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=30)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(
    st.sampled_from(["key", "n", "small", "", "x", "kez"]) | st.text(max_size=6), _values
)
_spelt = st.builds(
    lambda value, ascii, spaces: json.dumps(
        value, ensure_ascii=ascii, separators=(", ", ": ") if spaces else (",", ":")
    ).encode(errors="surrogatepass"),
    _objects,
    st.booleans(),
    st.booleans(),
)


@st.composite
def _nearly_json(draw: st.DrawFn) -> bytes:
    """JSON with a byte or two changed, doubled or left out."""
    body = bytearray(draw(_spelt))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(body) - 1)) if body else 0
        body[at : at + 1] = draw(
            st.sampled_from([b"", b'"', b"\\", b"{", b"}", b",", b"0", b"-", b"\x00", b"\xff", b" "])
        )
    return bytes(body)


@settings(deadline=None, max_examples=400)
@given(st.lists(_spelt | _nearly_json() | st.binary(max_size=40), min_size=1, max_size=4))
@example([b'{"n":1}', b'{"n":1'])
def test_whatever_is_taken_is_what_the_decoder_gives(bodies: list[bytes]) -> None:
    """Rows would depend on whether a machine has compiled code."""
    columns = scanned(bodies)
    if columns is not None:
        decoded = parse_rows(bodies, FIELDS)
        assert decoded.bad == []
        assert columns == decoded.columns


def test_without_compiled_code_the_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors on other machines would give other rows, or none."""
    bodies = [b'{"key":"k%d","n":%d,"pad":"xx"}' % (n, n) for n in range(300)]
    quick = parse.parse_json(batch_of(bodies), 300, FIELDS)
    monkeypatch.setattr(parse, "scanner", lambda _fields: None)
    assert parse.parse_json(batch_of(bodies), 300, FIELDS) == quick


def test_executors_find_it_in_the_zip_that_spark_ships(tmp_path: Path) -> None:
    """On a cluster every worker would decode in Python."""
    archive = write_package(tmp_path / "jobs.zip")
    program = (
        f"import sys; sys.path = [{str(archive)!r}] + [p for p in sys.path if p != {str(ROOT)!r}]\n"
        "from bench.wire.native import library\n"
        "assert '.zip' in library.__file__ and library.library() is not None"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("setting", ["0", "1"])
def test_it_can_be_turned_off(setting: str) -> None:
    """Nobody could tell what it brings, or do without it."""
    program = "from bench.wire.native.library import library; print(library() is not None)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=ROOT, env={"JETLAG_NATIVE": setting}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(setting == "1")
