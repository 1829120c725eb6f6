"""Options, markers and fixtures of the suite; everything they do lives in bench/."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import pytest

from bench import exit_codes
from bench.bento.sink import BentoSink
from bench.driverbench.errors import TurnFailed
from bench.engine.protocol import Engine, EngineError
from bench.engine.registry import ENGINES, EngineOptions, not_run, of_case
from bench.engine.spark import SparkSettings
from bench.fault.spec import FORM, KINDS, TARGETS, Fault, FaultError
from bench.fault.support import TARGETS_OF
from bench.infra.errors import InfraError
from bench.infra.provider import CHOICES, Provider, choose_provider
from bench.infra.service import Service, TidbEndpoint, running
from bench.matrix_plugin import MatrixPlugin
from bench.profile import PROFILES
from bench.progress import Progress
from bench.report import NotRun
from bench.runfiles import ReportsError
from bench.runner import Runner
from bench.selection import leaves_out_unit_tests
from bench.session import Ending, Session, end
from bench.settings import RawOptions, Settings, UsageError, check_options, check_rates
from bench.stack import Stack
from bench.verdict import RunFailed, RunInvalid

SETTINGS = pytest.StashKey[Settings]()
SESSION = pytest.StashKey[Session]()
ENDING = pytest.StashKey[Ending]()
SCREEN = pytest.StashKey[TextIO]()

UNIT_TESTS = Path(__file__).parent / "tests" / "unit"

#: Errors that say all there is in their text; a traceback would bury it.
SELF_EXPLAINING = (EngineError, FaultError, InfraError, ReportsError, RunFailed, TurnFailed)

#: pytest looks for its ini file above every existing path among its words, so a bare one would mislead it.
REPORTS_DIR_HELP = "where runs go; write it with '=': --reports-dir=DIR [%(default)s]"

REHEARSE_HELP = "seconds that Spark runs on made-up events before it is ready, to compile its code [profile]"
RETRY_HELP = "repeat a run that could not be measured up to N times; a FAIL is never repeated [%(default)s]"

BASELINE_HELP = (
    "compare with the run or runs in this folder; a regression has its own exit code: --baseline=DIR"
)
RATES_HELP = "with --matrix: every case but B at each of these rates, e.g. 5000,20000,50000"
SOURCE_FULL_HELP = "the source suite at 100,000 and 1,000,000 events, its efficiency gated, the whole sweep"
STATESTORE_FULL_HELP = "the statestore suite's three scenarios, restores and settings at full size"
JOINS_FULL_HELP = "the joins suite at full size: minutes a case, its alerts gated, the search, the long run"
FAULT_HELP = (
    f"hurt every case that is run and measure its recovery, repeatable: {FORM}, e.g. engine:kill@12s/2s; "
    f"targets {', '.join(TARGETS)}; kinds {', '.join(KINDS)}"
)
SEARCH_HELP = "look for the highest rate that a case sustains; it counts when a full run confirms it"


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
    add("--window-clock", default=None, help="processing, ingest or event [by engine]")
    add("--engine", default=None, help=f"engine of cases C to F: {', '.join(ENGINES)} [spark; matrix: all]")
    add("--engine-image", default=None, help="container image of the engine [by engine]")
    add("--spark-master", default="local[*]", help="any Spark master URL [%(default)s]")
    add("--spark-conf", action="append", default=[], metavar="K=V", help="a Spark setting, repeatable")
    add("--trigger-ms", default=None, help="Spark's micro-batch trigger [the job's default]")
    add("--rehearse", default=None, metavar="S", help=REHEARSE_HELP)
    add("--checkpoint", default=None, help="Spark's checkpoint location [a temporary folder]")
    add("--retry-invalid", default=defaults.retry_invalid, metavar="N", help=RETRY_HELP)
    add("--matrix", action="store_true", help="run the cases one after the other in the roadmap's order")
    add("--matrix-rates", default=None, metavar="R,R,…", help=RATES_HELP)
    add("--baseline", default=None, metavar="DIR", help=BASELINE_HELP)
    add("--search", action="store_true", help=SEARCH_HELP)
    add("--fault", action="append", default=[], metavar="F", help=FAULT_HELP)
    add("--all-faults", action="store_true", help="the whole matrix of faults, not today's part of it")
    add("--transport-full", action="store_true", help="the transport suite over its whole cross product")
    add("--source-full", action="store_true", help=SOURCE_FULL_HELP)
    add("--statestore-full", action="store_true", help=STATESTORE_FULL_HELP)
    add("--joins-full", action="store_true", help=JOINS_FULL_HELP)
    add("--duration", default=None, metavar="T", help="of the transport soak: 90s, 20m, 12h [by profile]")
    add("--infra", default="auto", help=f"who runs the services: {', '.join(CHOICES)} [%(default)s]")
    add("--nats-image", default=None, help="container image of NATS [JETLAG_NATS_IMAGE or nats:2]")
    add("--tidb-image", default=None, help="container image of TiDB [JETLAG_TIDB_IMAGE or pingcap/tidb]")
    add("--allow-remote-target", action="store_true", help="the external services are mine to load")


def pytest_configure(config: pytest.Config) -> None:
    raw = _raw_options(config)
    try:
        settings = check_options(raw)
        swept = check_rates(raw, config.getoption("--matrix-rates"), config.getoption("--matrix"))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if raw.fault and config.getoption("--search"):
        raise pytest.UsageError(
            f"--fault {raw.fault[0]}: a search looks for a steady rate; leave out --search"
        )
    if config.getoption("--infra") not in CHOICES:
        wanted = ", ".join(CHOICES)
        raise pytest.UsageError(f"--infra {config.getoption('--infra')}: choose one of {wanted}")
    config.stash[SETTINGS] = settings
    config.stash[SESSION] = session = Session(settings.reports_dir)
    if config.getoption("--matrix"):
        config.pluginmanager.register(MatrixPlugin(session, settings, swept, settings.engine))
    # Capturing is suspended at this moment: this is the terminal itself, for the live line.
    config.stash[SCREEN] = os.fdopen(os.dup(sys.stderr.fileno()), "w")


def _raw_options(config: pytest.Config) -> RawOptions:
    names = RawOptions.__dataclass_fields__
    return RawOptions(**{name: config.getoption(f"--{name.replace('_', '-')}") for name in names})


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Unit tests are not read only to be deselected: that takes longer than the start of a case."""
    if collection_path != UNIT_TESTS or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return None
    return config.getoption("--matrix") or leaves_out_unit_tests(config.getoption("-m")) or None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With --matrix every engine has its turn in the cases that it runs."""
    config = metafunc.config
    case = _case_letter(metafunc.definition)
    named = config.stash[SETTINGS].engine_named
    if case and "engine" in metafunc.fixturenames and config.getoption("--matrix") and not named:
        metafunc.parametrize("engine", of_case(case), indirect=True)


def _case_letter(node: pytest.Item) -> str | None:
    names = [mark.name for mark in node.iter_markers() if mark.name.startswith("case")]
    return names[0].removeprefix("case") if names else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --profile=soak only the soak: a night's run must not begin with an hour of other cases."""
    for item in items:
        _refuse_faults(config.stash[SETTINGS].faults, _case_letter(item))
    if config.getoption("--profile") == "soak":
        config.hook.pytest_deselected(items=[item for item in items if not item.get_closest_marker("soak")])
        items[:] = [item for item in items if item.get_closest_marker("soak")]


def _refuse_faults(faults: Sequence[Fault], case: str | None) -> None:
    """Before anything starts: a case without the target could only be run without its fault."""
    for fault in faults:
        if case is not None and fault.target not in (targets := TARGETS_OF[case]):
            raise pytest.UsageError(f"--fault {fault}: case {case} has {', '.join(targets)}")


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Settings:
    """As asked for; in a sweep those of the rate whose turn it is."""
    chosen: Settings = getattr(request, "param", pytestconfig.stash[SETTINGS])
    return chosen


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
        small_disk=pytestconfig.stash[SETTINGS].needs_small_disk,
        environ=os.environ,
        say=lambda line: print(f"jetlag: {line}", file=screen, flush=True),
    )
    print(f"\njetlag: infra {chosen.name}: {chosen.reason}", file=screen, flush=True)
    return chosen


@pytest.fixture(scope="session")
def nats_stack(provider: Provider, pytestconfig: pytest.Config) -> Iterator[Stack]:
    """A running NATS; case A needs no more. A fault on a leader wants a cluster."""
    if pytestconfig.stash[SETTINGS].needs_cluster:
        with provider.nats_cluster() as cluster:
            yield Stack(provider.name, next(iter(cluster.nodes.values())), cluster=cluster)
        return
    with running(provider.nats()) as nats:
        yield Stack(provider.name, nats)


@pytest.fixture(scope="session")
def tidb_service(provider: Provider) -> Iterator[Service[TidbEndpoint]]:
    with running(provider.tidb()) as tidb:
        yield tidb


@pytest.fixture(scope="session")
def full_stack(nats_stack: Stack, tidb_service: Service[TidbEndpoint]) -> Stack:
    return replace(nats_stack, tidb=tidb_service)


def _engine_options(config: pytest.Config) -> EngineOptions:
    settings, screen = config.stash[SETTINGS], config.stash[SCREEN]
    return EngineOptions(
        image=settings.engine_image,
        spark=SparkSettings(
            master=config.getoption("--spark-master"),
            trigger_ms=settings.trigger_ms,
            checkpoint=config.getoption("--checkpoint"),
            conf=settings.spark_conf,
            rehearse_s=settings.rehearse_s,
        ),
        environ=os.environ,
        allow_remote_target=config.getoption("--allow-remote-target"),
        say=lambda line: print(f"jetlag: {line}", file=screen, flush=True),
    )


@pytest.fixture
def engine(request: pytest.FixtureRequest, pytestconfig: pytest.Config, settings: Settings) -> Engine:
    """The engine under test, not yet deployed."""
    row = ENGINES[getattr(request, "param", settings.engine)]
    options = _engine_options(pytestconfig)
    reason = row.refusal(_case_letter(request.node) or "C", settings.window_clock) or row.absent(options)
    if reason is not None:
        pytest.skip(reason)
    return row.make(options)


@pytest.fixture
def bento_sink() -> BentoSink:
    """Case E's way into TiDB, not yet started."""
    return BentoSink(os.environ.get("JETLAG_BENTO_IMAGE"))


@pytest.fixture
def run(request: pytest.FixtureRequest, pytestconfig: pytest.Config, settings: Settings) -> Runner:
    """Runs a case, notes its outcome for the closing table, and returns it unjudged."""
    session = pytestconfig.stash[SESSION]
    progress = Progress(pytestconfig.stash[SCREEN], lambda: session.plan.told() if session.plan else "")
    return Runner(
        settings,
        session,
        progress,
        note=lambda name, value: request.node.user_properties.append((name, value)),  # for JUnit XML
        search=pytestconfig.getoption("--search"),
    )


def _missing_rows(config: pytest.Config) -> list[NotRun]:
    asked = config.stash[SETTINGS]
    variants = (asked.engine,) if asked.engine_named else tuple(ENGINES)
    return not_run(_engine_options(config), variants, asked.window_clock)


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
    """Report, history and comparison are written here: after Ctrl-C too, and the exit code hangs on them."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter is not None else {}
    baseline = config.getoption("--baseline")
    config.stash[ENDING] = ending = end(
        config.stash[SESSION],
        _missing_rows(config) if config.getoption("--matrix") else (),
        Path(baseline) if baseline is not None else None,
        interrupted=exitstatus == pytest.ExitCode.INTERRUPTED,
    )
    only_invalid = stats.get("invalid") and not stats.get("failed") and not stats.get("error")
    if exitstatus == pytest.ExitCode.TESTS_FAILED and only_invalid:
        # A regression stands whatever else could not be measured.
        regressed = ending.exit_code == exit_codes.REGRESSION
        session.exitstatus = exit_codes.REGRESSION if regressed else exit_codes.INVALID
    elif exitstatus == pytest.ExitCode.OK and ending.exit_code:
        session.exitstatus = ending.exit_code


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for report in terminalreporter.stats.get("invalid", []):
        terminalreporter.section(f"INVALID {report.nodeid}", sep="_")
        terminalreporter.line(str(report.longrepr))
    ending = config.stash.get(ENDING, Ending())
    if ending.lines:
        terminalreporter.section("jetlag")
    for line in ending.lines:
        terminalreporter.line(line)
