"""What the commands of `python -m bench statestore` do."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress

from bench.driverbench.errors import TurnFailed
from bench.infra.errors import InfraError
from bench.infra.service import running
from bench.statestore.figures import last_totals, live_line
from bench.statestore.home import Home, HomeError
from bench.statestore.ledger import account, judge
from bench.statestore.load import Growth, Launch
from bench.statestore.sender import send_growth, send_launch
from bench.statestore.server_process import AUDIT, ServerProcess
from bench.statestore.settings import ServerSettings
from bench.statestore.streams import StateStoreStreams, read_endings, sink_options
from bench.verdict import Verdict
from spark_jobs.jetstream.errors import JetStreamError
from spark_jobs.statestore.names import ENDED

#: Errors that say all there is in one line.
TOLD = (HomeError, InfraError, JetStreamError, TurnFailed, OSError)
_SHOW_EVERY_S = 5.0
_POLL_S = 0.5
_HELD = ("workflows", "task_runs", "timers", "time_outs", "completes_late", "timers_pending", "stored_bytes")


def _home(options: argparse.Namespace) -> Home:
    return Home(options.home, os.environ, options.allow_remote_target)


def _setup(options: argparse.Namespace) -> int:
    home = _home(options)
    home.refuse_if_served()
    for old in (home.folder / "jetstream", home.checkpoint):
        shutil.rmtree(old, ignore_errors=True)
    home.folder.mkdir(parents=True, exist_ok=True)
    for file in home.folder.iterdir():
        if file.suffix in (".json", ".jsonl"):
            file.unlink()
    with running(home.nats()) as nats, StateStoreStreams(nats.endpoint) as streams:
        streams.make_all()
    print(f"statestore: ready in {home.folder}; next: python -m bench statestore server")
    return 0


def _server(options: argparse.Namespace) -> int:
    home = _home(options)
    if not options.task_timeout > 0 or any("=" not in pair for pair in options.conf):
        print("statestore server: --task-timeout wants seconds above 0, --conf KEY=VALUE", file=sys.stderr)
        return 2
    home.refuse_if_served()
    if not home.folder.exists():
        raise HomeError(f"{home.folder} is not there: `python -m bench statestore setup` makes it")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings = ServerSettings(
        stores=options.stores,
        partitions=options.partitions,
        timeout_ms=round(options.task_timeout * 1000),
        max_messages=options.max_messages,
        conf=tuple(options.conf),
    )
    with home.serving() as nats, ServerProcess(nats, home.folder, settings, options.audit) as server:
        with StateStoreStreams(nats) as streams:
            if not streams.present():
                raise HomeError("the streams are not there: `python -m bench statestore setup` makes them")
        try:
            server.start()
            _say("starting Spark")
            server.wait_ready()
            _say(f"ready on {nats.url}; Ctrl-C ends it")
            _watch(server)
        except KeyboardInterrupt:
            _say("stopping" + (", then reading the store" if options.audit else ""))
            server.stop()
    return 0


def _watch(server: ServerProcess) -> None:
    shown, before = time.monotonic(), last_totals(server.folder)
    while True:
        server.check()
        time.sleep(_POLL_S)
        if (passed := time.monotonic() - shown) >= _SHOW_EVERY_S:
            now = last_totals(server.folder)
            if now != before:
                _say(live_line(before, now, passed))
            shown, before = time.monotonic(), now


def _launch(options: argparse.Namespace) -> int:
    home = _home(options)
    nats = home.server()
    if options.grow:
        growth = Growth(options.grow * 1_000_000)
        home.note(growth)
        before = last_totals(home.folder).get("grown", 0)
        send_growth(sink_options(nats), growth, lambda wanted: _wait_for_growth(home, before + wanted))
    launch = Launch(options.workflows, options.size)
    home.note(launch)
    shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _SHOW_EVERY_S or done == total:
            shown = time.monotonic()
            _say(f"sent {done:,} of {total:,} messages")

    send_launch(sink_options(nats), launch, options.rate, show)
    if not options.no_wait:
        _wait_for_the_end(home, launch)
    return 0


def _wait_for_growth(home: Home, wanted: int) -> None:
    shown = time.monotonic()
    while (grown := last_totals(home.folder).get("grown", 0)) < wanted:
        if time.monotonic() - shown >= _SHOW_EVERY_S:
            shown = time.monotonic()
            _say(f"grown by {grown:,} TaskRuns so far")
        home.server()  # gone: told in one line
        time.sleep(_POLL_S / 5)


def _wait_for_the_end(home: Home, launch: Launch) -> None:
    wanted = launch.truth.workflows
    shown, begun = time.monotonic(), time.monotonic()
    nats = home.server()
    with StateStoreStreams(nats) as streams:
        while True:
            told = read_endings(nats, streams.message_count(ENDED))
            ended = {one["of"] for one in told if one["kind"] == "ended"} & wanted
            if ended == wanted:
                took_s = time.monotonic() - begun
                _say(f"all {len(wanted):,} workflows have ended, {took_s:.1f} s after the last send")
                return
            if time.monotonic() - shown >= _SHOW_EVERY_S:
                shown = time.monotonic()
                _say(f"{len(ended):,} of {len(wanted):,} workflows have ended")
            home.server()  # gone: told in one line
            time.sleep(_POLL_S)


def _windows(options: argparse.Namespace) -> int:
    home = _home(options)
    home.server()
    for window in home.windows(options.count):
        print(json.dumps(window, indent=4))
    return 0


def _streams(options: argparse.Namespace) -> int:
    home = _home(options)
    home.server()
    progress = home.streams_metrics()
    print(f"batchId {progress['batchId']}")
    for name, value in sorted(progress["durationMs"].items()):
        print(f"durationMs.{name} {value}")
    for number, state in enumerate(progress["stateOperators"]):
        plain = {name: value for name, value in state.items() if not isinstance(value, dict)}
        for name, value in sorted({**plain, **state.get("customMetrics", {})}.items()):
            print(f"stateOperators.{number}.{name} {value}")
    return 0


def _ledger(options: argparse.Namespace) -> int:
    home = _home(options)
    home.refuse_if_served()
    try:
        audit = json.loads((home.folder / AUDIT).read_text())
    except FileNotFoundError:
        raise HomeError(f"{home.folder}: no audit; run the server with --audit and end it") from None
    with running(home.nats()) as nats, StateStoreStreams(nats.endpoint) as streams:
        endings = read_endings(nats.endpoint, streams.message_count(ENDED))
    metrics = account(home.truth(), endings, audit)
    report = judge(metrics)
    for result in report.results:
        gate = result.gate
        print(f"{'ok ' if result.passed else 'BAD'} {gate.metric} {result.observed} ({gate.why})")
    print("; ".join(f"{name} {metrics[name]:,}" for name in _HELD))
    print(f"ledger: {report.verdict.value}")
    return 0 if report.verdict is Verdict.PASS else 1


def _say(line: str) -> None:
    with suppress(BrokenPipeError):
        print(f"statestore: {line}", file=sys.stderr, flush=True)


ACTIONS = {
    "setup": _setup,
    "server": _server,
    "launch-tests": _launch,
    "workflow-metrics": _windows,
    "streams-metrics": _streams,
    "ledger": _ledger,
}
