"""Names that cross a process border: streams, subjects, files, the layouts of the store. Imports no Spark."""

from __future__ import annotations

from typing import Literal

EVENTS, ENDED = "WORKFLOWS", "WORKFLOWS_ENDED"
EVENTS_SUBJECT, ENDED_SUBJECT = "workflows", "workflows-ended"
#: Workflows are spread over so many subjects: 24 and the powers of two up to 64 divide it.
BUCKETS = 960

#: `one`: all kinds of objects in one map state, told apart by prefix. `variables`: two dozen map states in
#: one RocksDB. `operators`: two dozen stateful operators, each with a RocksDB of its own.
Stores = Literal["one", "variables", "operators"]
STORES: tuple[Stores, ...] = ("one", "variables", "operators")
TWO_DOZEN = 24

READY = "READY statestore"
#: Left in the server's folder.
BATCHES, WINDOWS = "batches.jsonl", "windows.json"
PROGRESS, STREAMS = "progress.jsonl", "streams-metrics.json"
