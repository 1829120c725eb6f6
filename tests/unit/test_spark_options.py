"""The options of format("jetstream"): what a user gets wrong is told by name, what is right is typed."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.jetstream.options import Start, parse_sink, parse_source, parse_start

NEEDED = {"servers": "nats://127.0.0.1:4222", "stream": "EVENTS"}


def test_defaults_read_everything_and_fail_on_loss() -> None:
    """A query without options would skip events or hide a purge."""
    options = parse_source(NEEDED)
    assert options.start == Start("earliest")
    assert options.fail_on_data_loss
    assert options.max_offsets_per_trigger is None
    assert options.mode == "FAILFAST"


def test_names_ignore_case_as_spark_options_do() -> None:
    """Spark hands option names over in lower case, and none would be recognised."""
    options = parse_source({"SERVERS": "h:1", "Stream": "S", "maxoffsetspertrigger": "7"})
    assert options.max_offsets_per_trigger == 7


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("maxOffsetsPerTrigger", "0"),
        ("maxOffsetsPerTrigger", "many"),
        ("minPartitions", "-1"),
        ("failOnDataLoss", "maybe"),
        ("startingOffset", "yesterday"),
        ("startingOffset", "0"),
        ("fetchBatch", "0"),
        ("stream", "a.b"),
        ("durable", "dur.C"),
        ("subjects", "events.1,,events.2"),
        ("mode", "LENIENT"),
        ("format", "avro"),
        ("servers", "http://127.0.0.1"),
        ("tickMs", "0"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_option(option: str, text: str) -> None:
    """A misspelt value would be taken for another one in silence."""
    with pytest.raises(ValueError, match=option):
        parse_source({**NEEDED, option: text})


def test_an_unknown_option_is_an_error_that_names_it() -> None:
    """`maxOffsetPerTrigger` (one s missing) would leave a query without its limit."""
    with pytest.raises(ValueError, match="'maxOffsetPerTrigger'"):
        parse_source({**NEEDED, "maxOffsetPerTrigger": "5"})


@pytest.mark.parametrize("missing", ["servers", "stream"])
def test_what_is_needed_is_asked_for(missing: str) -> None:
    """The error would come later, from inside the connection, and name nothing."""
    with pytest.raises(ValueError, match=f"option {missing} is missing"):
        parse_source({name: text for name, text in NEEDED.items() if name != missing})


def test_every_server_gets_the_credentials() -> None:
    """After a fail-over the second server would refuse us."""
    servers = "nats://a:1, tls://b:2"
    options = parse_source({**NEEDED, "servers": servers, "user": "u", "password": "p"})
    assert [(s.host, s.port, s.user, s.password, s.tls) for s in options.servers] == [
        ("a", 1, "u", "p", False),
        ("b", 2, "u", "p", True),
    ]


def test_no_text_form_shows_a_password() -> None:
    """A password would reach a log with the first traceback."""
    secret = "s3cr3t-word"
    options = parse_source({**NEEDED, "user": "u", "password": secret})
    assert secret not in repr(options)
    with pytest.raises(ValueError, match="servers") as caught:
        parse_source({**NEEDED, "servers": f"nats://u:{secret}@:bad"})
    assert secret not in str(caught.value)


def test_user_without_password_is_refused() -> None:
    """The user's name would be sent as a token."""
    with pytest.raises(ValueError, match="belong together"):
        parse_source({**NEEDED, "user": "u"})


def test_a_tick_may_not_lead_by_a_whole_window() -> None:
    """Ticks would be given for windows that have not begun."""
    with pytest.raises(ValueError, match="tickLeadMs"):
        parse_source({**NEEDED, "tickMs": "1000", "tickLeadMs": "1000"})


def test_sink_leaves_sparks_own_options_alone() -> None:
    """Every streaming write has a checkpointLocation, and would be refused."""
    options = parse_sink({**NEEDED, "checkpointLocation": "/x", "maxInFlight": "10"})
    assert options.max_in_flight == 10


def test_sink_refuses_the_sources_options() -> None:
    """A durable on a sink would be ignored in silence."""
    with pytest.raises(ValueError, match="'durable'"):
        parse_sink({**NEEDED, "durable": "d"})


@given(st.integers(1, 2**62))
def test_a_sequence_is_a_start(seq: int) -> None:
    """A restart by hand from a known sequence would begin elsewhere."""
    assert parse_start(str(seq)) == Start(seq=seq)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1)), st.integers(-14, 14))
def test_a_time_without_zone_is_utc(time: datetime, hours: int) -> None:
    """The driver's time zone would decide what is read."""
    assert parse_start(time.isoformat()).time == time.replace(tzinfo=UTC)
    shifted = (time + timedelta(hours=hours)).isoformat() + f"{hours:+03d}:00"
    assert parse_start(shifted).time == time.replace(tzinfo=UTC)


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=4))
def test_any_junk_is_a_value_error(junk: dict[str, Any]) -> None:
    """A TypeError or KeyError from inside would be shown to the user instead of a sentence."""
    with contextlib.suppress(ValueError):
        parse_source({**NEEDED, **junk})
