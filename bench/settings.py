"""What the user asked for: every option, checked before anything starts."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.contract.event import Event, encode_event, value_of
from bench.contract.names import check_run_id
from bench.contract.partition import MAX_PARTITIONS
from bench.duration import seconds_of
from bench.engine.protocol import WindowClock
from bench.engine.registry import ENGINES
from bench.fault.spec import Fault, FaultError, parse_fault
from bench.profile import PROFILES, Profile
from bench.runfiles import LATEST

MAX_RATE = 5_000_000
MAX_SECONDS = 7 * 24 * 3600
MAX_PAYLOAD = 1024 * 1024
#: A soak is judged by its quarters: shorter ones have too few samples.
MIN_SOAK_S = 10
#: The ledgers keep a few bytes for every event of a run, in memory.
MAX_EVENTS = 1_000_000_000
DEFAULT_ENGINE = "spark"
_LAST_TS_MS = 10**13 - 1


class UsageError(Exception):
    """An option's value will not do; one line that names the option and the value."""


@dataclass(frozen=True)
class RawOptions:
    """Options as typed on the command line; None where the profile decides."""

    profile: str = "smoke"
    rate: str | None = None
    warmup: str | None = None
    measure: str | None = None
    num_keys: str = "20000"
    payload_bytes: str = "512"
    partitions: str = "16"
    storage: str = "memory"
    replicas: str = "1"
    message_ids: bool = False
    run_id: str | None = None
    reports_dir: str = "reports"
    seed: str = "1"
    window_ms: str | None = None
    window_clock: str | None = None
    engine: str | None = None
    engine_image: str | None = None
    trigger_ms: str | None = None
    spark_conf: Sequence[str] = ()
    rehearse: str | None = None
    retry_invalid: str = "0"
    duration: str | None = None
    transport_full: bool = False
    fault: Sequence[str] = ()


@dataclass(frozen=True)
class Settings:
    profile: Profile
    rate_per_s: int | None
    warmup_s: int
    measure_s: int
    num_keys: int
    payload_bytes: int
    partitions: int
    storage: str
    replicas: int
    message_ids: bool
    run_id: str | None
    reports_dir: Path
    seed: int
    window_ms: int
    window_clock: WindowClock | None
    engine: str
    #: Whether the user named the engine; the matrix otherwise runs all there are.
    engine_named: bool
    engine_image: str | None
    windowed_warmup_s: int
    windowed_measure_s: int
    trigger_ms: int | None
    spark_conf: tuple[str, ...]
    rehearse_s: int
    retry_invalid: int
    #: Of the soak, in seconds; None where the profile decides.
    duration_s: int | None
    transport_full: bool
    faults: tuple[Fault, ...] = ()

    @property
    def needs_cluster(self) -> bool:
        return any(fault.target == "nats-leader" for fault in self.faults)

    @property
    def needs_small_disk(self) -> bool:
        return any(fault.kind == "disk-full" for fault in self.faults)

    def clock_of(self, variant: str) -> WindowClock:
        return self.window_clock or ENGINES[variant].window_clocks[0]

    def rate_of(self, case: str) -> int:
        return self.rate_per_s if self.rate_per_s is not None else self.profile.rates_per_s[case]


def check_options(raw: RawOptions) -> Settings:
    if raw.profile not in PROFILES:
        raise UsageError(f"--profile {_shown(raw.profile)}: unknown; choose one of {', '.join(PROFILES)}")
    if raw.storage not in ("memory", "file"):
        raise UsageError(f"--storage {_shown(raw.storage)}: choose memory or file")
    if raw.replicas not in ("1", "3", "5"):
        raise UsageError(f"--replicas {_shown(raw.replicas)}: JetStream keeps 1, 3 or 5")
    engine = DEFAULT_ENGINE if raw.engine is None else raw.engine
    profile = PROFILES[raw.profile]
    warmup_s = None if raw.warmup is None else _whole("--warmup", raw.warmup, 0, MAX_SECONDS)
    measure_s = None if raw.measure is None else _whole("--measure", raw.measure, 4, MAX_SECONDS)
    settings = Settings(
        profile=profile,
        rate_per_s=None if raw.rate is None else _whole("--rate", raw.rate, 1, MAX_RATE),
        warmup_s=profile.warmup_s if warmup_s is None else warmup_s,
        measure_s=profile.measure_s if measure_s is None else measure_s,
        num_keys=_whole("--num-keys", raw.num_keys, 1, 10_000_000),
        payload_bytes=_whole("--payload-bytes", raw.payload_bytes, 1, MAX_PAYLOAD),
        partitions=_whole("--partitions", raw.partitions, 1, MAX_PARTITIONS),
        storage=raw.storage,
        replicas=int(raw.replicas),
        message_ids=raw.message_ids,
        run_id=_run_id(raw.run_id),
        reports_dir=_reports_dir(raw.reports_dir),
        seed=_whole("--seed", raw.seed, 0, 2**63 - 1),
        window_ms=profile.window_ms
        if raw.window_ms is None
        else _whole("--window-ms", raw.window_ms, 500, 3_600_000),
        window_clock=_window_clock(raw.window_clock, engine),
        engine=engine,
        engine_named=raw.engine is not None,
        engine_image=_engine_image(raw.engine_image, raw.engine),
        windowed_warmup_s=profile.windowed_warmup_s if warmup_s is None else warmup_s,
        windowed_measure_s=profile.windowed_measure_s if measure_s is None else measure_s,
        trigger_ms=None if raw.trigger_ms is None else _whole("--trigger-ms", raw.trigger_ms, 0, 600_000),
        spark_conf=_spark_conf(raw.spark_conf),
        rehearse_s=profile.rehearse_s if raw.rehearse is None else _whole("--rehearse", raw.rehearse, 0, 600),
        retry_invalid=_whole("--retry-invalid", raw.retry_invalid, 0, 10),
        duration_s=None if raw.duration is None else _duration(raw.duration),
        transport_full=raw.transport_full,
        faults=_faults(raw.fault),
    )
    if settings.needs_cluster and settings.replicas != 3:
        raise UsageError(f"--replicas {raw.replicas}: a fault on nats-leader wants a cluster: --replicas 3")
    _check_size(settings)
    return settings


def check_rates(raw: RawOptions, rates: str | None, matrix: bool) -> list[Settings]:
    """The settings of a sweep, one for each rate of --matrix-rates; none without a sweep."""
    if rates is None:
        return []
    if not matrix:
        raise UsageError(f"--matrix-rates {_shown(rates)}: goes with --matrix")
    if raw.rate is not None:
        raise UsageError(f"--matrix-rates {_shown(rates)}: --rate {_shown(raw.rate)} asks for one rate")
    parts = [part.strip() for part in rates.split(",")]
    whole = [_whole("--matrix-rates", part, 1, MAX_RATE) for part in parts]
    return [check_options(replace(raw, rate=str(rate))) for rate in dict.fromkeys(whole)]


def _whole(option: str, text: str, low: int, high: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"{option} {_shown(text)}: not a whole number") from None
    if not low <= value <= high:
        raise UsageError(f"{option} {_shown(text)}: must be {low} to {high}")
    return value


def _window_clock(text: str | None, engine: str) -> WindowClock | None:
    """The clock asked for, if the engine can close windows by it."""
    if engine not in ENGINES:
        raise UsageError(f"--engine {_shown(engine)}: choose one of {', '.join(ENGINES)}")
    clocks = ENGINES[engine].window_clocks
    if text is None:
        return None
    for clock in clocks:
        if clock == text:
            return clock
    raise UsageError(f"--window-clock {_shown(text)}: {engine} closes windows by {' or '.join(clocks)}")


def _engine_image(image: str | None, engine: str | None) -> str | None:
    if image is None:
        return None
    if engine in (None, "spark"):
        raise UsageError(f"--engine-image {_shown(image)}: name the engine that it holds with --engine")
    if not image or not image.isprintable() or " " in image:
        raise UsageError(f"--engine-image {_shown(image)}: not the name of an image")
    return image


def _duration(text: str) -> int:
    try:
        total = seconds_of(text)
    except ValueError as error:
        raise UsageError(f"--duration {_shown(text)}: {error}") from None
    if not MIN_SOAK_S <= total <= MAX_SECONDS:
        raise UsageError(f"--duration {_shown(text)}: must be {MIN_SOAK_S} s to {MAX_SECONDS // 86400} days")
    return total


def _faults(texts: Sequence[str]) -> tuple[Fault, ...]:
    faults = []
    for text in texts:
        try:
            faults.append(parse_fault(text))
        except FaultError as error:
            raise UsageError(f"--fault {_shown(text)}: {error}") from None
    return tuple(faults)


def _spark_conf(pairs: Sequence[str]) -> tuple[str, ...]:
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise UsageError(f"--spark-conf {pair}: wanted KEY=VALUE")
    return tuple(pairs)


def _run_id(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        check_run_id(text)
    except ValueError as error:
        raise UsageError(f"--run-id: {error}") from None
    if text == LATEST:
        raise UsageError(f"--run-id {text}: this is the name of the link to the newest run")
    return text


def _reports_dir(text: str) -> Path:
    path = Path(text)
    there = next((folder for folder in (path, *path.parents) if folder.exists()), path)
    if not text or not there.is_dir():
        raise UsageError(f"--reports-dir {_shown(text)}: not a folder")
    return path


def _shown(text: str) -> str:
    """The value as typed, if that is one short line."""
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"


def _check_size(settings: Settings) -> None:
    """The heaviest case and its longest event must fit: better said now than after a minute of set-up."""
    rate = max(settings.rate_of(case) for case in settings.profile.rates_per_s)
    total = rate * max(
        settings.warmup_s + settings.measure_s, settings.windowed_warmup_s + settings.windowed_measure_s
    )
    if total > MAX_EVENTS:
        raise UsageError(
            f"--rate {rate}: makes {total} events in all, at most {MAX_EVENTS} can be accounted for"
        )
    run_id = settings.run_id or new_run_id("A")
    longest = Event(run_id, total, _LAST_TS_MS, f"k{settings.num_keys - 1}", value_of(total))
    try:
        encode_event(longest, settings.payload_bytes)
    except ValueError as error:
        needs = str(error).partition(": ")[2]
        raise UsageError(
            f"--payload-bytes {settings.payload_bytes} is too small for {total} events of {run_id}: {needs}"
        ) from None


def new_run_id(case_name: str) -> str:
    """Sorts by time, and two suites started in the same second do not collide."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{case_name}-{stamp}-{secrets.token_hex(2)}"
