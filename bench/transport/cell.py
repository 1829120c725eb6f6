"""A cell of the evaluation is data: how the stream is kept, how it is fed, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

Layout = Literal["one", "per-app"]
Storage = Literal["memory", "file"]
Mode = Literal["sync", "async", "batch"]
Consumers = Literal["ordered", "pull"]

LAYOUTS: tuple[Layout, ...] = ("one", "per-app")
STORAGES: tuple[Storage, ...] = ("memory", "file")
REPLICAS = (1, 3)
MODES: tuple[Mode, ...] = ("sync", "async", "batch")
SIZES = (512, 1024, 10240)
GROUPS = (3, 6)
CREWS = ((1, 1), (2, 10))
CONSUMERS: tuple[Consumers, ...] = ("ordered", "pull")

#: Messages in flight of an asynchronous publisher, and in one atomic batch: what `nats bench` takes too.
WINDOW = 500


@dataclass(frozen=True)
class Cell:
    """`groups` × (`publishers`, `subscribers`): each group has a subject of its own.

    With layout `one` all groups share a stream; with `per-app` each has its own. Every subscriber of a group
    reads every message of that group.
    """

    layout: Layout = "one"
    storage: Storage = "file"
    replicas: int = 3
    mode: Mode = "sync"
    size: int = 1024
    groups: int = 3
    publishers: int = 2
    subscribers: int = 10
    consumers: Consumers = "ordered"
    #: Of each group, shared among its publishers.
    messages: int = 10_000
    #: Of each group in open loop; None: as fast as acknowledgements come.
    rate_per_s: int | None = None
    window: int = WINDOW

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("layout", self.layout, LAYOUTS),
            ("storage", self.storage, STORAGES),
            ("mode", self.mode, MODES),
            ("consumers", self.consumers, CONSUMERS),
        ):
            if value not in choices:
                raise ValueError(f"{name} {value!r}: choose one of {', '.join(choices)}")
        if self.publishers < 1 or self.publishers > 99 or self.messages < self.publishers:
            raise ValueError(
                f"{self.publishers} publishers of {self.messages} messages: wanted 1 to 99, each with one"
            )

    @property
    def name(self) -> str:
        return (
            f"{self.layout}-{self.storage}-r{self.replicas}-{self.mode}-{self.size}B-"
            f"{self.groups}x{self.publishers}p{self.subscribers}s-{self.consumers}"
        )

    def stream(self, group: int) -> str:
        return "TRANSPORT" if self.layout == "one" else f"TRANSPORT_{group}"

    def streams(self) -> dict[str, str]:
        """Name and subjects of each stream of the cell."""
        if self.layout == "one":
            return {"TRANSPORT": "transport.>"}
        return {self.stream(group): f"transport.{group}.>" for group in range(self.groups)}

    def subject(self, group: int) -> str:
        return f"transport.{group}.bench"

    def share(self, publisher: int) -> int:
        """How many of a group's messages this publisher sends."""
        return self.messages // self.publishers + (publisher < self.messages % self.publishers)

    def resized(self, messages: int) -> Cell:
        return replace(self, messages=messages)


def full_product() -> Iterator[Cell]:
    for layout, storage, replicas, mode, size, groups, (publishers, subscribers), consumers in product(
        LAYOUTS, STORAGES, REPLICAS, MODES, SIZES, GROUPS, CREWS, CONSUMERS
    ):
        yield Cell(layout, storage, replicas, mode, size, groups, publishers, subscribers, consumers)
