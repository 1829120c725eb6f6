"""The configuration file of a NATS server we run ourselves, wherever it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
# The default of 64 MB cuts off a reader that stalls in the middle of a large pull.
MAX_PENDING_BYTES = 256 * 1024 * 1024
# What a stream has not yet stored. The default of 10,000 messages and 128 MB refuses publishes when the
# server pauses for 0.2 s at 50,000 a second; we want to see the pause as latency.
MAX_BUFFERED_MESSAGES = 1_000_000
MAX_BUFFERED_SIZE = "1GB"
# With streams in files the server's heap is small, and Go's default collects it all the time: a fifth of its
# CPU. With streams in memory the limit comes first, and all is as by default; without it the heap grew to
# 8 GB, its pauses to 2 s. See docs/decisions/0023-go-runtime.md.
GO_RUNTIME = {"GOGC": "400", "GOMEMLIMIT": "3GiB"}


def go_runtime(environ: Mapping[str, str]) -> dict[str, str]:
    """For a server that we start; what the user has set himself is left as it is."""
    return {name: environ.get(name, value) for name, value in GO_RUNTIME.items()}


@dataclass(frozen=True)
class ClusterSeat:
    """One server's place in a cluster: its own name and route port, and where the others listen."""

    name: str
    cluster: str
    host: str
    port: int
    peers: tuple[str, ...]
    user: str
    password: str = field(repr=False)

    def render(self) -> list[str]:
        login = f"{self.user}:{self.password}"
        routes = [json.dumps(f"nats://{login}@{peer}") for peer in self.peers]
        return [
            "cluster {",
            f"  name: {json.dumps(self.cluster)}",
            f"  listen: {json.dumps(f'{self.host}:{self.port}')}",
            f"  routes: [{', '.join(routes)}]",
            "  authorization {",
            f"    user: {json.dumps(self.user)}",
            f"    password: {json.dumps(self.password)}",
            "  }",
            "}",
        ]


@dataclass(frozen=True)
class NatsConfig:
    host: str
    port: int
    monitor_port: int
    store_dir: str
    user: str
    password: str = field(repr=False)
    max_memory_store: str = "4GB"
    max_file_store: str = "20GB"
    seat: ClusterSeat | None = None
    #: How often JetStream fsyncs ("2m", "always"); None leaves the server's default of two minutes.
    sync_interval: str | None = None

    def render(self) -> str:
        """The file holds the password: write it with mode 0600 and never log it."""
        monitor = f"{self.host}:{self.monitor_port}"
        # JSON's quoting is valid in this format, so no path or password can break out of its value.
        return "\n".join(
            [
                f"server_name: {json.dumps(self.seat.name if self.seat else 'jetlag')}",
                f"host: {json.dumps(self.host)}",
                f"port: {self.port}",
                f"http: {json.dumps(monitor)}",
                f"max_payload: {MAX_PAYLOAD_BYTES}",
                f"max_pending: {MAX_PENDING_BYTES}",
                'write_deadline: "10s"',
                "jetstream {",
                f"  store_dir: {json.dumps(self.store_dir)}",
                f"  max_memory_store: {self.max_memory_store}",
                f"  max_file_store: {self.max_file_store}",
                f"  max_buffered_msgs: {MAX_BUFFERED_MESSAGES}",
                f"  max_buffered_size: {MAX_BUFFERED_SIZE}",
                *([f"  sync_interval: {self.sync_interval}"] if self.sync_interval else []),
                "}",
                *(self.seat.render() if self.seat else []),
                "authorization {",
                f"  user: {json.dumps(self.user)}",
                f"  password: {json.dumps(self.password)}",
                "}",
                "",
            ]
        )
