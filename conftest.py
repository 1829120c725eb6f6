"""Options, markers and fixtures of the suite; everything they do lives in bench/."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

from bench.attempts import attempt_id, run_until_measured
from bench.case import Case
from bench.engine.protocol import Engine, EngineError
from bench.engine.spark import SparkEngine, SparkSettings
from bench.infra.errors import InfraError
from bench.infra.provider import CHOICES, Provider, choose_provider
from bench.infra.service import Service, TidbEndpoint, running
from bench.intervention import Intervention
from bench.outcome import Outcome
from bench.pipeline import PipelineBuilder
from bench.profile import PROFILES
from bench.progress import Progress
from bench.report import NotRun, write_report
from bench.run import run_case
from bench.runfiles import ReportsError
from bench.settings import RawOptions, Settings, UsageError, check_options, new_run_id
from bench.stack import Stack
from bench.summary import summary_table
from bench.verdict import RunFailed, RunInvalid

#: pytest's own codes end at 5; a CI can tell "too slow" (1) from "could not be measured".
EXIT_INVALID = 7

ENGINES = ("spark",)

_NO_ADAPTER = "the suite has no adapter for this engine yet"
#: Rows of the roadmap's matrix that cannot be run yet; a reader must not take them for forgotten.
NOT_RUN = (
    *(NotRun(case, variant, _NO_ADAPTER) for case in "CD" for variant in ("arroyo", "rw")),
    NotRun("E", "arroyo", "the suite has no Bento sink path yet"),
    NotRun("F", "rw", _NO_ADAPTER),
)

SETTINGS = pytest.StashKey[Settings]()
OUTCOMES = pytest.StashKey[list[Outcome]]()
SCREEN = pytest.StashKey[TextIO]()

#: Errors that say all there is in their text; a traceback would bury it.
SELF_EXPLAINING = (EngineError, InfraError, ReportsError, RunFailed)

#: pytest looks for its ini file above every existing path among its words, so a bare one would mislead it.
REPORTS_DIR_HELP = "where runs go; write it with '=': --reports-dir=DIR [%(default)s]"

RETRY_HELP = "repeat a run that could not be measured up to N times; a FAIL is never repeated [%(default)s]"

RunCase = Callable[..., Outcome]


def pytest_addoption(parser: pytest.Parser) -> None:
    defaults = RawOptions()
    group = parser.getgroup("jetlag", "jetlag: how far does the pipeline lag, and does it lose anything?")
    profiles = "; ".join(f"{profile.name}: {profile.help}" for profile in PROFILES.values())
    add = group.addoption
    add("--profile", default=defaults.profile, help=f"size of the runs ({profiles}) [%(default)s]")
    add("--rate", default=None, help="events (case B: rows) per second [by profile and case]")
    add("--warmup", default=None, metavar="S", help="seconds before measuring [by profile]")
    add("--measure", default=None, metavar="S", help="seconds measured, at least 4 [by profile]")
    add("--num-keys", default=defaults.num_keys, help="distinct keys [%(default)s]")
    add("--payload-bytes", default=defaults.payload_bytes, help="bytes of an event [%(default)s]")
    add("--partitions", default=defaults.partitions, help="subjects events.<p>, 1 to 16 [%(default)s]")
    add("--storage", default=defaults.storage, help="JetStream storage: memory or file [%(default)s]")
    add("--replicas", default=defaults.replicas, help="JetStream replicas: 1, 3 or 5 [%(default)s]")
    add("--message-ids", action="store_true", help="Nats-Msg-Id on events too (case B always has them)")
    add("--run-id", default=None, help="name of the run and its folder [made up from case and time]")
    add("--reports-dir", default=defaults.reports_dir, metavar="DIR", help=REPORTS_DIR_HELP)
    add("--seed", default=defaults.seed, help="seed of the payload's padding [%(default)s]")
    add("--window-ms", default=None, help="the engine's tumbling window [by profile]")
    add("--window-clock", default=defaults.window_clock, help="processing or event [%(default)s]")
    add("--engine", default="spark", help=f"engine of cases C, D, F: {', '.join(ENGINES)} [%(default)s]")
    add("--spark-master", default="local[*]", help="any Spark master URL [%(default)s]")
    add("--spark-conf", action="append", default=[], metavar="K=V", help="a Spark setting, repeatable")
    add("--trigger-ms", default=None, help="Spark's micro-batch trigger [the job's default]")
    add("--checkpoint", default=None, help="Spark's checkpoint location [a temporary folder]")
    add("--retry-invalid", default=defaults.retry_invalid, metavar="N", help=RETRY_HELP)
    add("--matrix", action="store_true", help="run the cases one after the other in the roadmap's order")
    add("--transport-full", action="store_true", help="the transport suite over its whole cross product")
    add("--duration", default=None, metavar="T", help="of the transport soak: 90s, 20m, 12h [by profile]")
    add("--infra", default="auto", help=f"who runs the services: {', '.join(CHOICES)} [%(default)s]")
    add("--nats-image", default=None, help="container image of NATS [JETLAG_NATS_IMAGE or nats:2]")
    add("--tidb-image", default=None, help="container image of TiDB [JETLAG_TIDB_IMAGE or pingcap/tidb]")
    add("--allow-remote-target", action="store_true", help="the external services are mine to load")


def pytest_configure(config: pytest.Config) -> None:
    try:
        config.stash[SETTINGS] = check_options(_raw_options(config))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    for option, choices in (("--infra", CHOICES), ("--engine", ENGINES)):
        if config.getoption(option) not in choices:
            wanted = ", ".join(choices)
            raise pytest.UsageError(f"{option} {config.getoption(option)}: choose one of {wanted}")
    config.stash[OUTCOMES] = []
    # Capturing is suspended at this moment: this is the terminal itself, for the live line.
    config.stash[SCREEN] = os.fdopen(os.dup(sys.stderr.fileno()), "w")


def _raw_options(config: pytest.Config) -> RawOptions:
    names = RawOptions.__dataclass_fields__
    return RawOptions(**{name: config.getoption(f"--{name.replace('_', '-')}") for name in names})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --matrix only the cases themselves, A to F: not the tests that spoil and break them.

    With --profile=soak only the soak: a night's run must not begin with an hour of other cases.
    """
    if config.getoption("--profile") == "soak":
        config.hook.pytest_deselected(items=[item for item in items if not item.get_closest_marker("soak")])
        items[:] = [item for item in items if item.get_closest_marker("soak")]
    if not config.getoption("--matrix"):
        return
    order = [f"test_case_{letter}" for letter in "abcdef"]
    chosen = [item for item in items if item.name.split("[")[0] in order]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = sorted(chosen, key=lambda item: order.index(item.name.split("[")[0]))


@pytest.fixture(scope="session")
def settings(pytestconfig: pytest.Config) -> Settings:
    return pytestconfig.stash[SETTINGS]


@pytest.fixture(scope="session")
def screen(pytestconfig: pytest.Config) -> TextIO:
    """The terminal itself, where what takes long shows that it goes on."""
    return pytestconfig.stash[SCREEN]


@pytest.fixture(scope="session")
def provider(pytestconfig: pytest.Config) -> Provider:
    screen = pytestconfig.stash[SCREEN]
    option = pytestconfig.getoption
    chosen = choose_provider(
        option("--infra"),
        nats_image=option("--nats-image"),
        tidb_image=option("--tidb-image"),
        allow_remote_target=option("--allow-remote-target"),
        environ=os.environ,
        say=lambda line: print(f"jetlag: {line}", file=screen, flush=True),
    )
    print(f"\njetlag: infra {chosen.name}: {chosen.reason}", file=screen, flush=True)
    return chosen


@pytest.fixture(scope="session")
def nats_stack(provider: Provider) -> Iterator[Stack]:
    """A running NATS; case A needs no more."""
    with running(provider.nats()) as nats:
        yield Stack(provider.name, nats)


@pytest.fixture(scope="session")
def tidb_service(provider: Provider) -> Iterator[Service[TidbEndpoint]]:
    with running(provider.tidb()) as tidb:
        yield tidb


@pytest.fixture(scope="session")
def full_stack(nats_stack: Stack, tidb_service: Service[TidbEndpoint]) -> Stack:
    return Stack(nats_stack.provider, nats_stack.nats, tidb_service)


@pytest.fixture
def engine(pytestconfig: pytest.Config, settings: Settings) -> Engine:
    """The engine under test, not yet deployed."""
    return SparkEngine(
        SparkSettings(
            master=pytestconfig.getoption("--spark-master"),
            trigger_ms=settings.trigger_ms,
            checkpoint=pytestconfig.getoption("--checkpoint"),
            conf=settings.spark_conf,
        )
    )


@pytest.fixture
def run(pytestconfig: pytest.Config, settings: Settings) -> RunCase:
    """Runs a case, notes its outcome for the closing table, and returns it unjudged."""

    def go(
        case: Case,
        stack: Stack,
        interventions: Sequence[Intervention] = (),
        builder: PipelineBuilder | None = None,
        reports_dir: Path | None = None,
        listed: bool = True,
        retries: int = settings.retry_invalid,
    ) -> Outcome:
        run_id = (settings.run_id if listed else None) or new_run_id(case.name)

        def once(attempt: int) -> Outcome:
            outcome = run_case(
                case,
                stack,
                run_id=attempt_id(run_id, attempt),
                reports_dir=reports_dir or settings.reports_dir,
                progress=Progress(pytestconfig.stash[SCREEN]),
                interventions=interventions,
                builder=builder,
                settings={"profile": settings.profile.name},
            )
            if listed:
                pytestconfig.stash[OUTCOMES].append(outcome)
            return outcome

        return run_until_measured(once, retries)

    return go


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    report: pytest.TestReport = (yield).get_result()
    if call.excinfo is None:
        return
    if isinstance(call.excinfo.value, RunInvalid):
        report.outcome = "failed"
        report.invalid = True  # type: ignore[attr-defined]
        report.longrepr = str(call.excinfo.value)
    elif isinstance(call.excinfo.value, SELF_EXPLAINING):
        report.longrepr = str(call.excinfo.value)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if getattr(report, "invalid", False) and report.when == "call":
        return "invalid", "I", "INVALID"
    return None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter is not None else {}
    only_invalid = stats.get("invalid") and not stats.get("failed") and not stats.get("error")
    if exitstatus == pytest.ExitCode.TESTS_FAILED and only_invalid:
        session.exitstatus = EXIT_INVALID


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    outcomes = config.stash[OUTCOMES]
    for report in terminalreporter.stats.get("invalid", []):
        terminalreporter.section(f"INVALID {report.nodeid}", sep="_")
        terminalreporter.line(str(report.longrepr))
    if not outcomes:
        return
    terminalreporter.section("jetlag")
    for line in summary_table(outcomes):
        terminalreporter.line(line)
    terminalreporter.line("")
    for outcome in outcomes:
        terminalreporter.line(f"{outcome.case.name}: {outcome.folder}")
    not_run = NOT_RUN if config.getoption("--matrix") else ()
    try:
        page = write_report(
            [outcome.folder for outcome in outcomes],
            not_run,
            config.stash[SETTINGS].reports_dir / new_run_id("report"),
        )
        terminalreporter.line(f"report: {page}")
    except OSError as error:
        terminalreporter.line(f"report: cannot be written: {error}")
