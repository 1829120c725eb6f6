"""Names that cross a process border."""

from __future__ import annotations

import re
from fnmatch import translate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.contract import names
from bench.contract.names import Durable, check_run_id, check_variant, durable

relaxed = settings(deadline=None)  # a busy machine is no finding

ALL_DURABLES = [
    ("A", "events", None, Durable("dur_A_events", "EVENTS", "events.*")),
    ("B", "results", None, Durable("dur_B_results_mock", "RESULTS", "results.mock.*")),
    ("C", "events", "spark", Durable("dur_C_events_spark", "EVENTS", "events.*")),
    ("C", "events", "arroyo", Durable("dur_C_events_arroyo", "EVENTS", "events.*")),
    ("C", "events", "rw", Durable("dur_C_events_rw", "EVENTS", "events.*")),
    ("C", "results", "spark", Durable("dur_C_results_spark", "RESULTS", "results.spark.*")),
    ("C", "results", "arroyo", Durable("dur_C_results_arroyo", "RESULTS", "results.arroyo.*")),
    ("C", "results", "rw", Durable("dur_C_results_rw", "RESULTS", "results.rw.*")),
    ("D", "events", "spark", Durable("dur_D_events_spark", "EVENTS", "events.*")),
    ("D", "events", "arroyo", Durable("dur_D_events_arroyo", "EVENTS", "events.*")),
    ("D", "events", "rw", Durable("dur_D_events_rw", "EVENTS", "events.*")),
    ("D", "results", "spark", Durable("dur_D_results_spark", "RESULTS", "results.spark.*")),
    ("D", "results", "arroyo", Durable("dur_D_results_arroyo", "RESULTS", "results.arroyo.*")),
    ("D", "results", "rw", Durable("dur_D_results_rw", "RESULTS", "results.rw.*")),
    ("E", "events", "spark", Durable("dur_E_events_spark", "EVENTS", "events.*")),
    ("E", "events", "arroyo", Durable("dur_E_events_arroyo", "EVENTS", "events.*")),
    ("E", "events", "rw", Durable("dur_E_events_rw", "EVENTS", "events.*")),
    ("E", "results", "spark", Durable("dur_E_results_spark", "RESULTS", "results.spark.*")),
    ("E", "results", "arroyo", Durable("dur_E_results_arroyo", "RESULTS", "results.arroyo.*")),
    ("E", "results", "rw", Durable("dur_E_results_rw", "RESULTS", "results.rw.*")),
    ("F", "events", "spark", Durable("dur_F_events_spark", "EVENTS", "events.*")),
    ("F", "events", "arroyo", Durable("dur_F_events_arroyo", "EVENTS", "events.*")),
    ("F", "events", "rw", Durable("dur_F_events_rw", "EVENTS", "events.*")),
    ("C", "events", "bento", Durable("dur_C_events_bento", "EVENTS", "events.*")),
    ("C", "results", "bento", Durable("dur_C_results_bento", "RESULTS", "results.bento.*")),
    ("D", "events", "bento", Durable("dur_D_events_bento", "EVENTS", "events.*")),
    ("D", "results", "bento", Durable("dur_D_results_bento", "RESULTS", "results.bento.*")),
    ("E", "events", "bento", Durable("dur_E_events_bento", "EVENTS", "events.*")),
    ("E", "results", "bento", Durable("dur_E_results_bento", "RESULTS", "results.bento.*")),
    ("F", "events", "bento", Durable("dur_F_events_bento", "EVENTS", "events.*")),
    ("E", "witness", "spark", Durable("dur_E_witness_spark", "RESULTS", "results.spark.*")),
    ("E", "witness", "arroyo", Durable("dur_E_witness_arroyo", "RESULTS", "results.arroyo.*")),
    ("E", "witness", "rw", Durable("dur_E_witness_rw", "RESULTS", "results.rw.*")),
    ("E", "witness", "bento", Durable("dur_E_witness_bento", "RESULTS", "results.bento.*")),
]

HOSTILE = [
    "",
    " ",
    "a b",
    "a.b",
    "*",
    ">",
    "a\n",
    "\n",
    "a\0",
    "é",
    "'; --",
    "../x",
    "<b>",
    "a/b",
    "a%b",
    "x" * 49,
]


def matches(pattern: str, subject: str) -> bool:
    """JetStream's star: exactly one token."""
    tokens = pattern.split(".")
    return len(tokens) == subject.count(".") + 1 and all(
        re.fullmatch(translate(token), part) for token, part in zip(tokens, subject.split("."), strict=True)
    )


def test_every_durable_is_in_the_table() -> None:
    """If this fails, an engine's configuration by hand no longer finds the consumer, or two share one."""
    made = []
    for case in names.CASES:
        for role in ("events", "results", "witness"):
            for variant in (None, *names.VARIANTS):
                try:
                    made.append((case, role, variant, durable(case, role, variant)))
                except ValueError:
                    continue
    # Cases A and B take no variant; whichever is given changes nothing.
    unique = {(case, role, None if case in "AB" else variant, found) for case, role, variant, found in made}
    assert unique == set(ALL_DURABLES)
    assert len({found.name for *_, found in unique}) == len(unique)


@pytest.mark.parametrize(("case", "role", "variant", "wanted"), ALL_DURABLES)
def test_a_durable_is_spelled_as_jetstream_allows(
    case: str, role: str, variant: str | None, wanted: Durable
) -> None:
    """If this fails, the server refuses the consumer, or it reads another stream's subjects."""
    assert durable(case, role, variant) == wanted
    assert re.fullmatch(r"[A-Za-z0-9_-]+", wanted.name)
    tokens = names.STREAM_SUBJECTS[wanted.stream].count(".")
    assert wanted.filter_subject.count(".") == tokens
    assert matches(names.STREAM_SUBJECTS[wanted.stream], wanted.filter_subject)


@pytest.mark.parametrize(
    ("case", "role", "variant"),
    [
        ("G", "events", None),
        ("", "events", None),
        ("CD", "events", "spark"),
        ("A", "results", None),
        ("B", "events", "mock"),
        ("C", "events", None),
        ("C", "events", "mock"),
        ("C", "events", "flink"),
        ("C", "events", "spark.x"),
        ("C", "sink", "spark"),
        ("F", "results", "spark"),
        ("C", "witness", "spark"),
        ("E", "witness", "mock"),
    ],
)
def test_no_durable_for_what_no_case_has(case: str, role: str, variant: str | None) -> None:
    """If this fails, a typo makes a consumer that nobody reads and everybody waits for."""
    with pytest.raises(ValueError, match=r"case|variant"):
        durable(case, role, variant)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_run_id_is_refused(value: str) -> None:
    """If this fails, a run id can break out of a subject, a path, a statement or a page."""
    with pytest.raises(ValueError, match="run id"):
        check_run_id(value)


@relaxed
@given(st.text(max_size=60))
def test_a_run_id_is_harmless_or_refused(value: str) -> None:
    """If this fails, some character outside the short list gets through."""
    harmless = 1 <= len(value) <= 48 and set(value) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
    )
    if harmless:
        assert check_run_id(value) == value
    else:
        with pytest.raises(ValueError, match="run id"):
            check_run_id(value)


@pytest.mark.parametrize("value", [*HOSTILE, "Spark", "spark ", "flink"])
def test_a_hostile_variant_is_refused(value: str) -> None:
    """If this fails, a variant that no engine has stands in subjects and statements."""
    with pytest.raises(ValueError, match="unknown variant"):
        check_variant(value)
    with pytest.raises(ValueError, match="unknown variant"):
        names.results_subject(value, 0)
    with pytest.raises(ValueError, match="unknown variant"):
        names.results_filter(value)


def test_subjects_belong_to_their_streams_and_to_no_other() -> None:
    """If this fails, a publish has no stream (503) or lands in two."""
    subjects = {names.events_subject(p): names.EVENTS for p in range(16)}
    subjects |= {names.results_subject(v, p): names.RESULTS for v in names.VARIANTS for p in range(16)}
    subjects[names.HEARTBEAT_SUBJECT] = names.CTRL
    assert len(subjects) == 16 + 5 * 16 + 1
    for subject, stream in subjects.items():
        assert [s for s, pattern in names.STREAM_SUBJECTS.items() if matches(pattern, subject)] == [stream]


def test_a_results_filter_takes_its_variant_only() -> None:
    """If this fails, one engine's writer stores another engine's results."""
    for variant in names.VARIANTS:
        taken = [
            v for v in names.VARIANTS if matches(names.results_filter(variant), names.results_subject(v, 7))
        ]
        assert taken == [variant]
