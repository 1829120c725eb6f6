"""The result row on `results.<variant>.<p>` and in TiDB."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any

from bench.contract.event import BIGINT, value_of

FIELDS = ("run_id", "key", "window_end_ms", "count", "sum_value", "seq", "producer_ts_ms")
_fields_of = itemgetter(*FIELDS)
_LOWEST, _HIGHEST = BIGINT[0], BIGINT[-1]


@dataclass(frozen=True)
class Result:
    """One key's aggregate over one window.

    seq and producer_ts_ms are the maxima over the window's input: a progress mark, not contiguous.
    """

    run_id: str
    key: str
    window_end_ms: int
    count: int
    sum_value: int
    seq: int
    producer_ts_ms: int


def encode_result(result: Result) -> bytes:
    return json.dumps(asdict(result), separators=(",", ":")).encode()


Values = tuple[str, str, int, int, int, int, int]


def result_from_fields(fields: Any) -> Result:
    """A Result out of parsed JSON; further fields (`variant`) may be carried and are left alone."""
    return Result(*values_from_fields(fields))


def values_from_fields(fields: Any) -> Values:
    """The values of a Result, in the order of FIELDS: for those who need no object a row."""
    if not isinstance(fields, dict):
        raise ValueError(f"result is not a JSON object but {type(fields).__name__}")
    try:
        values: Values = _fields_of(fields)
    except KeyError as error:
        raise ValueError(f"result lacks field {error}") from None
    run_id, key, a, b, c, d, e = values
    # Spelled out: this runs once a row, and loops over seven values take three times as long.
    if not (type(run_id) is type(key) is str and type(a) is type(b) is type(c) is type(d) is type(e) is int):
        raise ValueError(f"result with a field of the wrong type: {str(fields)[:200]}")
    if min(a, b, c, d, e) < _LOWEST or max(a, b, c, d, e) > _HIGHEST:
        raise ValueError(f"result with a number of more than 64 bits: {str(fields)[:200]}")
    return values


def decode_result(data: bytes) -> Result:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"result is not JSON: {error}") from None
    return result_from_fields(fields)


def mock_result(run_id: str, seq: int, window_end_ms: int, num_keys: int) -> Result:
    """Row `seq` of case B's mock engine.

    Its window end is the row's own intended time, so that db_insert_ts − window_end_ms
    is the sink's latency and nothing else.
    """
    return Result(run_id, f"k{seq % num_keys}", window_end_ms, 1, value_of(seq), seq, window_end_ms)
