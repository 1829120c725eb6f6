"""The engines of the suite, one row each: their cases, their clocks, and whether they are at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.engine.at_hand import ARROYO, RISINGWAVE, Origin
from bench.engine.protocol import Engine, WindowClock
from bench.engine.spark import SparkEngine, SparkSettings
from bench.infra.external_url import arroyo_url, risingwave_endpoint
from bench.report.not_run import NotRun


@dataclass(frozen=True)
class EngineOptions:
    """What the user says of engines."""

    image: str | None = None
    spark: SparkSettings = field(default_factory=SparkSettings)
    environ: Mapping[str, str] = field(default_factory=dict)
    allow_remote_target: bool = False
    #: Is told what takes long (an image being pulled).
    say: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True)
class EngineRow:
    variant: str
    cases: str
    #: The first is the default.
    window_clocks: tuple[WindowClock, ...]
    make: Callable[[EngineOptions], Engine]
    #: Why it cannot be run here, with the one command that mends it; None if it can.
    absent: Callable[[EngineOptions], str | None] = lambda _options: None

    def refusal(self, case: str, clock: WindowClock | None) -> str | None:
        """Why this engine does not run the case by the clock that the user asked for, if any."""
        if case not in self.cases:
            return f"{self.variant} runs the cases {', '.join(self.cases)}, not {case}"
        if clock is not None and clock not in self.window_clocks:
            return f"{self.variant} closes windows by {' or '.join(self.window_clocks)} time, not {clock}"
        return None


def _spark(options: EngineOptions) -> Engine:
    return SparkEngine(options.spark)


def _bento(options: EngineOptions) -> Engine:
    from bench.engine.bento import BentoEngine

    return BentoEngine(options.image or options.environ.get("JETLAG_BENTO_IMAGE"))


def _arroyo(options: EngineOptions) -> Engine:
    # Imported late, here and below: testcontainers and psycopg take a while, and most runs need neither.
    from bench.engine.arroyo import ArroyoEngine
    from bench.infra.external_engine import ExternalArroyo

    url = ARROYO.url(options.environ)
    if url is not None:
        address = arroyo_url(url, allow_remote_target=options.allow_remote_target)
        return ArroyoEngine(ExternalArroyo(address), f"external {address}")
    from bench.infra.container_arroyo import ContainerArroyo

    image = ARROYO.image(options.image, options.environ)
    return ArroyoEngine(ContainerArroyo(image), f"image {image}")


def _risingwave(options: EngineOptions) -> Engine:
    from bench.engine.risingwave import RisingWaveEngine
    from bench.infra.external_engine import ExternalRisingWave

    url = RISINGWAVE.url(options.environ)
    if url is not None:
        endpoint = risingwave_endpoint(url, allow_remote_target=options.allow_remote_target)
        return RisingWaveEngine(ExternalRisingWave(endpoint), f"external {endpoint.url}")
    from bench.infra.container_risingwave import ContainerRisingWave

    image = RISINGWAVE.image(options.image, options.environ)
    return RisingWaveEngine(ContainerRisingWave(image), f"image {image}")


def _needs(origin: Origin) -> Callable[[EngineOptions], str | None]:
    return lambda options: origin.absent(options.image, options.environ, options.say)


ENGINES: dict[str, EngineRow] = {
    row.variant: row
    for row in (
        EngineRow("spark", "CDEF", ("processing", "event"), _spark),
        EngineRow("bento", "CD", ("processing",), _bento),
        EngineRow("arroyo", "CDE", ("ingest", "event"), _arroyo, _needs(ARROYO)),
        EngineRow("rw", "CDF", ("event",), _risingwave, _needs(RISINGWAVE)),
    )
}


def of_case(case: str) -> list[str]:
    return [row.variant for row in ENGINES.values() if case in row.cases]


def not_run(
    options: EngineOptions, variants: tuple[str, ...] = tuple(ENGINES), clock: WindowClock | None = None
) -> list[NotRun]:
    """The rows of the matrix that could not be run; a reader must not take them for forgotten."""
    rows = []
    for case in "CDEF":
        for row in (ENGINES[variant] for variant in variants if case in ENGINES[variant].cases):
            reason = row.refusal(case, clock) or row.absent(options)
            if reason is not None:
                rows.append(NotRun(case, row.variant, reason))
    return rows
