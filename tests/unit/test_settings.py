"""Options: what is refused is refused before anything starts, in one line that names option and value."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.contract.names import check_run_id
from bench.profile import PROFILES
from bench.publish_frames import EventFrames, FrameShape
from bench.settings import RawOptions, UsageError, check_options, new_run_id

relaxed = hypothesis_settings(deadline=None)  # a busy machine is no finding

#: By field of RawOptions: lowest and highest that will do.
RANGES = {
    "rate": (1, 5_000_000),
    "warmup": (0, 604_800),
    "measure": (4, 604_800),
    "num_keys": (1, 10_000_000),
    "payload_bytes": (1, 1024 * 1024),
    "partitions": (1, 16),
    "seed": (0, 2**63 - 1),
    "window_ms": (500, 3_600_000),
    "retry_invalid": (0, 10),
    "rehearse": (0, 600),
}
CHOICES = {
    "profile": tuple(PROFILES),
    "storage": ("memory", "file"),
    "replicas": ("1", "3", "5"),
    "window_clock": ("processing", "event"),
    "engine": ("spark", "bento", "arroyo", "rw"),
}


def checked(**typed: Any):
    return check_options(RawOptions(**typed))


def said(**typed: Any) -> str:
    """The refusal, or nothing."""
    try:
        checked(**typed)
    except UsageError as error:
        return str(error)
    return ""


def refusal(**typed: Any) -> str:
    line = said(**typed)
    assert line, f"{typed} was taken"
    return line


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def test_every_option_is_tested_here() -> None:
    """If this fails, an option was added that no test in this file gives a bad value."""
    others = {"message_ids", "run_id", "reports_dir", "engine_image", "duration", "transport_full"}
    elsewhere = {"fault"}  # test_fault_spec.py
    of_one_engine = {"trigger_ms", "spark_conf"}  # tested beside the engine
    names = {field.name for field in fields(RawOptions)}
    assert names - of_one_engine - elsewhere == {*RANGES, *CHOICES, *others}


@pytest.mark.parametrize("name", sorted(RANGES))
def test_numbers_are_taken_to_their_bounds_and_no_further(name: str) -> None:
    """If this fails, a number beyond its range reaches the drivers, or a good one is refused."""
    low, high = RANGES[name]
    roomy = {"rate": "1", "payload_bytes": "2000"}  # so that only the option under test can be refused
    if name != "payload_bytes":  # whose lower bound is what an event needs, see below
        checked(**{**roomy, name: str(low)})
    if name == "rate":
        roomy |= {"warmup": "0", "measure": "4"}
    checked(**{**roomy, name: str(high)})
    for beyond in (low - 1, high + 1, -(10**30), 10**30):
        assert refusal(**{**roomy, name: str(beyond)}) == f"{option(name)} {beyond}: must be {low} to {high}"


@pytest.mark.parametrize("name", sorted(RANGES))
@pytest.mark.parametrize("text", ["", "abc", "1.5", "1e3", "0x10", "five", "--", "1 2", "NaN", "inf"])
def test_what_is_no_whole_number_is_refused(name: str, text: str) -> None:
    """If this fails, a mistyped number is a traceback or another number."""
    assert refusal(**{name: text}) == f"{option(name)} {text}: not a whole number"


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_choices_are_a_closed_list(name: str) -> None:
    """If this fails, a mistyped word is taken for the default."""
    for word in CHOICES[name]:
        checked(**{name: word})
    for word in ("", "tape", CHOICES[name][0].upper() + " ", "2", "1 "):
        assert refusal(**{name: word}).startswith(f"{option(name)} {word}: ")


def test_an_image_belongs_to_an_engine() -> None:
    """If this fails, one image is started as Arroyo and as RisingWave, or as Spark."""
    assert checked(engine="rw", engine_image="a/b:1").engine_image == "a/b:1"
    for engine in (None, "spark"):
        assert "name the engine" in refusal(engine=engine, engine_image="a/b:1")
    for image in ("", "a b", "a\nb"):
        assert refusal(engine="rw", engine_image=image).startswith("--engine-image ")


@relaxed
@given(st.sampled_from(sorted({*RANGES, *CHOICES, "run_id"})), st.text(max_size=300))
def test_a_refusal_is_one_short_line_whatever_was_typed(name: str, text: str) -> None:
    """If this fails, a value with a line break or of great length makes the error unreadable."""
    line = said(**{name: text})
    if line:
        assert line.startswith(option(name))
        assert len(line.splitlines()) == 1
        assert len(line) < (4000 if name == "run_id" else 300)


@pytest.mark.parametrize(
    "run_id",
    [
        "",
        "../x",
        "a/b",
        ".",
        "..",
        "a.b",
        "a b",
        "a\n",
        "a\x00b",
        "x" * 49,
        "'; DROP TABLE bench.window_results; --",
        "<script>",
        "events.*",
        ">",
        "$(id)",
        "ß",
        "latest",
    ],
)
def test_a_hostile_run_id_is_refused(run_id: str) -> None:
    """If this fails, a run id gets out of its folder, subject, SQL string or page."""
    line = refusal(run_id=run_id)
    assert line.startswith("--run-id")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("run_id", ["a", "x" * 48, "nightly_2026-01-01", "-", "LATEST", "latest-1"])
def test_a_harmless_run_id_is_taken(run_id: str) -> None:
    """If this fails, users cannot name their runs."""
    assert checked(run_id=run_id).run_id == run_id


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_the_profile_decides_what_is_not_given(profile) -> None:
    """If this fails, `--profile standard` is not the roadmap's load."""
    settings = checked(profile=profile.name)
    assert (settings.warmup_s, settings.measure_s) == (profile.warmup_s, profile.measure_s)
    assert settings.window_ms == profile.window_ms
    assert settings.rate_per_s is None
    for case, rate in profile.rates_per_s.items():
        assert settings.rate_of(case) == rate


def test_the_standard_profile_is_the_roadmaps() -> None:
    """If this fails, results are no longer comparable with what the roadmap asks for."""
    settings = checked(profile="standard")
    assert (settings.warmup_s, settings.measure_s, settings.window_ms) == (20, 120, 10_000)
    assert (settings.num_keys, settings.payload_bytes, settings.partitions) == (20_000, 512, 16)
    assert (settings.storage, settings.replicas) == ("memory", 1)
    assert settings.rate_of("A") == 50_000


@pytest.mark.parametrize("profile", PROFILES)
def test_an_option_overrides_the_profile(profile: str) -> None:
    """If this fails, an option is accepted and ignored."""
    settings = checked(profile=profile, rate="7", warmup="0", measure="9", window_ms="700", seed="5")
    assert (settings.warmup_s, settings.measure_s, settings.window_ms, settings.seed) == (0, 9, 700, 5)
    assert {settings.rate_of(case) for case in "ABCDEF"} == {7}
    assert (settings.windowed_warmup_s, settings.windowed_measure_s) == (0, 9)
    assert settings.profile.tolerance == PROFILES[profile].tolerance


@relaxed
@given(
    st.sampled_from(["r", "run-7", "x" * 48]),
    st.sampled_from([1, 10, 20_000, 10_000_000]),
    st.integers(1, 200_000),
    st.integers(-2, 2),
)
def test_the_smallest_payload_is_exactly_what_the_producer_needs(
    run_id: str, num_keys: int, rate: int, off: int
) -> None:
    """If this fails, a payload is refused that would do, or taken and then refused after the set-up."""
    total = rate * 10
    widest_key = f"k{num_keys - 1}"
    needed = len(
        f'{{"run_id":"{run_id}","event_id":"{run_id}-{total}","seq":{total},"producer_ts_ms":{10**13 - 1},'
        f'"key":"{widest_key}","value":{3 * total + 1},"payload":""}}'
    )
    typed = {"run_id": run_id, "num_keys": str(num_keys), "rate": str(rate), "warmup": "6", "measure": "4"}
    if off >= 0:
        assert checked(**typed, payload_bytes=str(needed + off)).payload_bytes == needed + off
    else:
        line = refusal(**typed, payload_bytes=str(needed + off))
        assert line.startswith(f"--payload-bytes {needed + off} is too small")
        assert line.endswith(str(needed))
        if num_keys > 20_000:
            return  # the frames hold a row a key: too slow to make here
        with pytest.raises(ValueError, match="too small"):
            EventFrames(FrameShape(run_id, total, num_keys, ("events.0",), "_INBOX.x"), needed + off)


def test_the_made_up_run_id_counts_for_the_payload_too() -> None:
    """If this fails, the smallest payload is right only for those who name their runs."""
    least = next(size for size in range(1, 512) if not said(payload_bytes=str(size)))
    assert least > len(new_run_id("A")) * 2


def test_more_events_than_memory_can_account_for_are_refused() -> None:
    """If this fails, a week at the highest rate ends in MemoryError after the set-up."""
    line = refusal(rate="5000000", measure="604800")
    assert line.startswith("--rate 5000000: ")
    assert len(line.splitlines()) == 1


def test_a_reports_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    """If this fails, a mistyped folder is found out only when the services run."""
    file = tmp_path / "file"
    file.touch()
    for text in ("", str(file), str(file / "below")):
        assert refusal(reports_dir=text) == f"--reports-dir {text}: not a folder"
    assert checked(reports_dir=str(tmp_path / "new" / "folder")).reports_dir == tmp_path / "new" / "folder"
    assert checked(reports_dir="reports").reports_dir == Path("reports")


def test_the_first_bad_option_does_not_hide_that_others_are_good() -> None:
    """If this fails, the error names an option that is not to blame."""
    good = RawOptions(profile="short", rate="100", storage="file", replicas="3")
    check_options(good)
    with pytest.raises(UsageError, match="--seed"):
        check_options(replace(good, seed="-1"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("20m", 1200), ("12h", 43_200), ("1h30m", 5400), ("45", 45), ("7m5s", 425)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: int) -> None:
    """If this fails, a soak runs for another time than asked for."""
    assert checked(duration=text).duration_s == seconds


@pytest.mark.parametrize("text", ["", "soon", "12 h", "1d", "-5m", "9s", "1e3", "200h", "5s5m", "٣m"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    """If this fails, a soak of no length passes, or a misread one runs for a week."""
    assert refusal(duration=text).startswith("--duration")


def test_made_up_run_ids_are_valid_and_differ() -> None:
    """If this fails, two suites started in the same second write into one folder."""
    made = [new_run_id(case) for case in ["A", "B-mock", "D-arroyo"] * 20]
    assert len(set(made)) > len(made) - 2  # four random digits: a clash in 60 is a freak, two are a bug
    for run_id in made:
        assert check_run_id(run_id) == run_id
