"""`python -m bench statestore …`: set-up, server, load and metrics of the one-partition store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.statestore.settings import ServerSettings
from spark_jobs.statestore.names import STORES

DEFAULT_HOME = Path("reports/statestore")


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "statestore",
        help="one partition, one big store: a workflow engine's load on Spark's RocksDB",
        description="Exit codes: 0 done, 1 it could not be done or the ledger is not exact, 2 usage.",
    )
    parser.add_argument(
        "--home", type=Path, default=DEFAULT_HOME, metavar="DIR", help="where it lives [%(default)s]"
    )
    parser.add_argument("--allow-remote-target", action="store_true", help="JETLAG_NATS_URL is mine to load")
    inner = parser.add_subparsers(dest="what", required=True, metavar="WHAT")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = inner.add_parser(name, help=text, description=text)
        added.set_defaults(do=lambda options: _guarded(name, options))
        return added

    command("setup", "make the streams, empty; forget what was there before")
    _server_options(command("server", "run the engine until Ctrl-C, with a broker of its own"))
    _launch_options(command("launch-tests", "run N workflows at once, each of 100 tasks"))
    windows = command("workflow-metrics", "the last K windows of 30 s, as JSON")
    windows.add_argument("count", type=_at_least(1), metavar="K")
    command("streams-metrics", "what Spark tells of its state store, RocksDB's figures included")
    command("ledger", "after `server --audit` has ended: is everything there, once?")


def _server_options(parser: argparse.ArgumentParser) -> None:
    usual = ServerSettings()
    add = parser.add_argument
    add("--stores", choices=STORES, default=usual.stores, help="one with prefixes, or 24 [%(default)s]")
    add("--partitions", type=_at_least(1), default=usual.partitions, help="[%(default)s]")
    add("--task-timeout", type=float, default=usual.timeout_ms / 1000, metavar="S", help="[%(default)s]")
    add("--max-messages", type=_at_least(1), default=usual.max_messages, help="a micro-batch [%(default)s]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting, repeatable")
    add("--audit", action="store_true", help="at the end read the store, for `ledger`")


def _launch_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workflows", type=_at_least(1), metavar="N", help="workflows in flight at the same time")
    add("size", type=_at_least(0), metavar="SIZE", help="bytes that each task puts out")
    add("--rate", type=_at_least(1), metavar="R", help="messages a second [as fast as they are taken]")
    add("--grow", type=_at_least(1), metavar="MB", help="first grow the state by so many MB of old TaskRuns")
    add("--no-wait", action="store_true", help="return when all is sent, not when all has ended")


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: wanted a whole number of at least {least}")
        return int(text)

    return parse


def _guarded(what: str, options: argparse.Namespace) -> int:
    from bench.statestore import actions  # Spark's modules are large: only where they are needed

    try:
        return actions.ACTIONS[what](options)
    except actions.TOLD as error:
        print(f"statestore {what}: {error}", file=sys.stderr)
        return 1
